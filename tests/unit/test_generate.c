/* Generation: weights, KV cache, closed forms of prefill and decode, and interpolated decoding
 * against every step run out. */
#include "plan_helpers.h"
#include "unit/suite.h"

static double sum(enum vs_work_kind kind, bool flops) {
    double all = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (phase.ops.at[i].kind == kind)
            all += flops ? phase.ops.at[i].flops : phase.ops.at[i].bytes;
    return all;
}

static void decode(const char *words, uint64_t past) {
    forget();
    sim_plan(&plan, words);
    sim_decode(&plan, &phase, past);
}

/* ---- memory ---- */

#define LLAMA3 "--model llama-3-8b --task generate --ctx 2048 "

/* Llama 3 8B: 8,030,261,248 parameters, 16.06 GB in fp16: too much for 12 GB, int4 is not. */
START_TEST(llama3_on_12_gb) {
    const struct vs_outcome *o = sim_memory("--hw a100 --engine ideal " LLAMA3 "--weights fp16");
    ck_assert(o->fits);
    ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_WEIGHTS_GIB)), 2.0 * 8030261248);
    ck_assert_near(sim_bytes(o, VS_METRIC_WEIGHTS_GIB), 16.06e9, 1e-3);
    o = sim_run("--hw rtx3060 --engine ideal " LLAMA3 "--weights fp16");
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->phase, "load");
    ck_assert_str_eq(o->oom->pool, "gpu0");
    ck_assert_double_eq(o->metrics[VS_METRIC_FITS], 0);
    ck_assert(isnan(o->metrics[VS_METRIC_DECODE_TPS]));
    o = sim_run("--hw rtx3060 --engine ideal " LLAMA3 "--weights int4");
    ck_assert(o->fits);
    ck_assert_double_gt(o->metrics[VS_METRIC_DECODE_TPS], 0);
    ck_assert(!sim_memory("--hw rtx3060 --engine hf " LLAMA3 "--weights fp16")->fits);
    ck_assert(!sim_memory("--hw rtx3060 --engine llamacpp " LLAMA3 "--weights fp16")->fits);
    ck_assert(sim_memory("--hw rtx3060 --engine llamacpp " LLAMA3 "--weights q4_0")->fits);
}
END_TEST

/* Llama 2 7B, 512 KiB of fp16 KV a token: 4,294,967,296 bytes at 8k, 16 GiB at 32k, 64 GiB at 32k
 * for four sequences. */
START_TEST(llama2_kv) {
    static const struct {
        const char *more;
        double bytes;
    } CASES[] = {{"--ctx 8k", 4294967296.0},
                 {"--ctx 32k", 16.0 * (double)GIB},
                 {"--ctx 32k --batch 4", 64.0 * (double)GIB}};
    for (size_t i = 0; i < 3; i++) {
        const struct vs_outcome *o = sim_memory(
            sim_words("--hw a100 --model llama-2-7b --engine ideal --task generate --weights fp16",
                      CASES[i].more));
        ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_KV_GIB)), CASES[i].bytes);
        ck_assert(o->fits); /* 12.55 + 64 GiB of 79 */
    }
}
END_TEST

/* A growing cache: the longer copy of one layer's K, or V, stands beside the old one. The toy keeps
 * 1 KiB of K and V a token and layer. */
START_TEST(growing_cache) {
    const struct vs_outcome *o =
        sim_memory(TOY_GENERATE "--kv-alloc dynamic --prompt 100 --gen 28");
    double grown = 4 * 128.0 * KIB, beside = 127.0 * KIB / 2;
    ck_assert(o->fits);
    ck_assert_double_ge(sim_bytes(o, VS_METRIC_KV_GIB), grown);
    ck_assert_double_le(sim_bytes(o, VS_METRIC_KV_GIB), grown + beside + 512);
    /* Provisioned: what --ctx says, from the start. */
    o = sim_memory(TOY_GENERATE "--prompt 100 --gen 28 --ctx 1024");
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_KV_GIB), 4 * 1024.0 * KIB);
}
END_TEST

/* Before 4.36 transformers handed the cache on as a tuple: in the last pass all 32 layers of
 * OPT-6.7B have 127 old tokens and 128 new ones, of 2 x 4096 x 2 bytes each; since then those of
 * one tensor are old. */
START_TEST(cache_handed_on) {
#define OPT                                                                                        \
    "--hw t4 --model opt-6.7b --engine hf --task generate --weights fp16 --kv fp16 --prompt 100 "  \
    "--gen 28 --engine-version "
    const double token = 2 * 4096 * 2, fresh = 32 * 128 * token;
    ck_assert_near(sim_bytes(sim_memory(OPT "4.25"), VS_METRIC_KV_GIB), fresh + 32 * 127 * token,
                   1e-3);
    ck_assert_near(sim_bytes(sim_memory(OPT "4.36"), VS_METRIC_KV_GIB), fresh + 127 * token / 2,
                   1e-3);
}
END_TEST

/* Accelerate brings one module and drops it before the next: of a layer of OPT-6.7B its largest
 * matrix is held, 4096 x 16384 in 16 bit, while all 12 x 4096 x 4096 of it and its vectors cross
 * the link. */
START_TEST(module_by_module) {
    struct vs_err err = {0};
    double copied = 0;
    sim_plan(&plan, OPT "4.36 --gpu-layers 0 --offload stream");
    ck_assert(vs_emit_decode(&plan, 100, &phase, &err));
    for (size_t i = 0; i < plan.buffers.count; i++)
        if (plan.buffers.at[i].tag == VS_TAG_STREAMED && plan.buffers.at[i].layer == 5)
            ck_assert_uint_eq(plan.buffers.at[i].bytes, 2ULL * 4096 * 16384);
    for (size_t i = 0; i < phase.ops.count; i++)
        if (phase.ops.at[i].layer == 5 && strcmp(phase.ops.at[i].what, "fetch layer") == 0)
            copied += phase.ops.at[i].bytes;
    ck_assert_near(copied, 2.0 * 12 * 4096 * 4096, 1e-3);
}
END_TEST

/* Python is slower than an A100: 32 layers of 132 launches of 6.3 us each make a token of
 * Llama-2-7B, in 16 bit and in 4. */
START_TEST(bound_by_python) {
#define LLAMA2                                                                                     \
    "--hw a100-80g-sxm --model llama-2-7b --engine hf --task generate --prompt 28 --gen 64 "       \
    "--weights "
    const double python_s = 32 * 132 * 6.3e-6;
    ck_assert_near(sim_run(LLAMA2 "fp16")->metrics[VS_METRIC_TPOT_S], python_s, 0.02);
    ck_assert_near(sim_run(LLAMA2 "nf4")->metrics[VS_METRIC_TPOT_S], python_s, 0.02);
}
END_TEST

/* Parts by place: two layers and the head's side of the toy on the host. */
START_TEST(parts_on_the_host) {
    const struct vs_outcome *o =
        sim_run(TOY_GENERATE "--offload cpu --gpu-layers 2 --prompt 96 --gen 32");
    double host = 2.0 * TOY_LAYER_BYTES + 2 * TOY_LINEAR + 512;
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_HOST_GIB), host);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_GIB), 2.0 * TOY_PARAMS - host);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_KV_HOST_GIB), 2 * 128.0 * KIB);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_KV_GIB), 2 * 128.0 * KIB);
}
END_TEST

/* An OOM behind loading: the cache of 10 GiB card does not stand beside the weights. */
START_TEST(cache_that_does_not_fit) {
    const struct vs_outcome *o = sim_run(TOY_GENERATE "--ctx 4096 --batch 640");
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->phase, "provision");
    ck_assert_str_eq(o->oom->tensor, "layer 3 KV cache");
    ck_assert_uint_eq(o->oom->requested_bytes, 4096ULL * 640 * KIB);
    ck_assert_uint_eq(o->oom->needed_bytes, 4ULL * 4096 * 640 * KIB + 2 * TOY_PARAMS);
    ck_assert_uint_eq(o->oom->short_bytes, o->oom->needed_bytes - 10 * GIB);
    /* It stops when the model has been read: 12.6 ms and the last copy. */
    ck_assert_near(o->oom->at_s, 2.0 * TOY_PARAMS / 1e9 + 2.0 * TOY_LINEAR / 5e9, 1e-6);
}
END_TEST

/* ---- closed forms ---- */

/* A decode step reads the layers and the head once, and the cache with the new token: bytes at 100
 * GB/s. Norms' weights are not read apart. */
static double toy_step_s(double batch, double cells) {
    double weights = 2 * 5.0 * TOY_LINEAR;
    return (weights + batch * cells * 4 * KIB) / 100e9;
}

START_TEST(decode_of_the_toy) {
    static const double BATCHES[] = {1, 2, 8};
    for (size_t i = 0; i < 3; i++) {
        double seconds = 0, batch = BATCHES[i];
        for (int n = 0; n < 64; n++)
            seconds += toy_step_s(batch, 100 + n + 1);
        const struct vs_outcome *o = sim_run(
            vs_arena_printf(&sim_arena, TOY_GENERATE "--prompt 100 --gen 64 --batch %g", batch));
        ck_assert_near(o->metrics[VS_METRIC_DECODE_TPS], batch * 64 / seconds, 1e-3);
        ck_assert_near(o->metrics[VS_METRIC_TPOT_S], seconds / 64, 1e-3);
        ck_assert_near(
            o->metrics[VS_METRIC_E2E_TPS],
            batch * 64 / (64 * o->metrics[VS_METRIC_TPOT_S] + o->metrics[VS_METRIC_TTFT_S]), 1e-12);
        ck_assert_str_eq(o->bound_by, "gpu0.memory");
    }
}
END_TEST

/* --prompt 0 --gen N: the mean over a cache that grows from 0 to N; --depth starts it elsewhere. */
START_TEST(decode_from_nothing) {
    double from_0 = 0, from_1000 = 0;
    for (int n = 0; n < 128; n++) {
        from_0 += toy_step_s(1, n + 1);
        from_1000 += toy_step_s(1, 1000 + n + 1);
    }
    const struct vs_outcome *o = sim_run(TOY_GENERATE "--prompt 0 --gen 128");
    ck_assert_near(o->metrics[VS_METRIC_DECODE_TPS], 128 / from_0, 1e-3);
    ck_assert(isnan(o->metrics[VS_METRIC_PREFILL_TPS]));
    o = sim_run(TOY_GENERATE "--prompt 0 --gen 128 --depth 1000");
    ck_assert_near(o->metrics[VS_METRIC_DECODE_TPS], 128 / from_1000, 1e-3);
    o = sim_run(TOY_GENERATE "--prompt 128 --gen 0");
    ck_assert(isnan(o->metrics[VS_METRIC_DECODE_TPS]));
    ck_assert_double_gt(o->metrics[VS_METRIC_PREFILL_TPS], 0);
}
END_TEST

/* Work of a prompt of 2048: 2 x 2048 FLOPs a linear weight; the head for the last token alone;
 * causal attention 4 x 256 x 2048 x 1024 a layer. Passes of 512 do the same work together. */
START_TEST(work_of_a_prompt) {
    static const char *const UBATCH[] = {"2048", "512", "500"};
    for (size_t i = 0; i < 3; i++) {
        forget();
        sim_plan(&plan, sim_words(TOY_GENERATE "--prompt 2048 --gen 0 --ubatch", UBATCH[i]));
        sim_prefill(&plan, &phase, 2048, 0);
        ck_assert_str_eq(phase.name, "prefill");
        ck_assert_double_eq(sum(VS_WORK_GEMM, true), 4 * 2.0 * 2048 * TOY_LINEAR);
        ck_assert_double_eq(sum(VS_WORK_GEMV, true), 2.0 * TOY_LINEAR);
        ck_assert_double_eq(sum(VS_WORK_ATTENTION, true), 4 * 4.0 * 256 * 2048 * 1024);
    }
}
END_TEST

/* Streamed decoding of one token: copies of 209.8 us hide the kernels behind them; with 0 layers
 * ahead each layer's kernels stand behind its copy. Cells 65: attention reads 65 KiB. */
START_TEST(streamed_decoding) {
    const double K = TOY_LAYER_BYTES / 10e9;
    const double layer = (2.0 * TOY_LINEAR + 65.0 * KIB) / 100e9, head = 2.0 * TOY_LINEAR / 100e9;
    static const char *const WORDS = TOY_GENERATE "--offload stream --prompt 64 --gen 1 --prefetch";
    const struct vs_outcome *o = sim_run(sim_words(WORDS, "0"));
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], 4 * (K + layer) + head, 1e-6);
    o = sim_run(sim_words(WORDS, "1"));
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], 4 * K + layer + head, 1e-6);
    ck_assert_str_eq(o->bound_by, "link0.h2d");
    o = sim_run(sim_words(WORDS, "2"));
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], 4 * K + layer + head, 1e-6);
}
END_TEST

/* Long prompts hide the copies instead: one copy, then the kernels of all layers (a copy takes a
 * tenth of the memory, which compute-bound kernels don't miss). */
START_TEST(streamed_prompt) {
    static const char *const WORDS =
        TOY_GENERATE "--prompt 2048 --gen 0 --offload stream --prefetch 1";
    const struct vs_outcome *stays = sim_run(TOY_GENERATE "--prompt 2048 --gen 0");
    const struct vs_outcome *streamed = sim_run(WORDS);
    double more = streamed->metrics[VS_METRIC_TTFT_S] - stays->metrics[VS_METRIC_TTFT_S];
    double K = TOY_LAYER_BYTES / 10e9;
    ck_assert(more > 0.99 * K && more < 1.5 * K);
}
END_TEST

/* A layer on the CPU decodes at the host's 50 GB/s; the hidden state of 4 x 256 bytes crosses the
 * link (pageable, 5 GB/s) where work moves, here once from CPU to GPU. */
START_TEST(layers_on_the_cpu) {
    const double weights = 2.0 * TOY_LINEAR, kv = 65.0 * KIB, cross = 1024 / 5e9;
    const struct vs_outcome *o =
        sim_run(TOY_GENERATE "--offload cpu --gpu-layers 5 --prompt 64 --gen 1");
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], (5 * weights + 4 * kv) / 100e9, 1e-6);
    o = sim_run(TOY_GENERATE "--offload cpu --gpu-layers 4 --prompt 64 --gen 1");
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S],
                   (4 * weights + 4 * kv) / 100e9 + cross + weights / 50e9, 1e-6);
    o = sim_run(TOY_GENERATE "--offload cpu --gpu-layers 2 --prompt 64 --gen 1");
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S],
                   (2 * weights + 2 * kv) / 50e9 + cross + (2 * weights + 2 * kv) / 100e9 + cross +
                       weights / 50e9,
                   1e-6);
    o = sim_run(TOY_GENERATE "--offload cpu --gpu-layers 0 --prompt 64 --gen 1");
    ck_assert_near(o->metrics[VS_METRIC_TPOT_S], (5 * weights + 4 * kv) / 50e9, 1e-6);
}
END_TEST

/* A grouped cache is a quarter of a full one. Windows and kinds of cache kernels: an old llama.cpp
 * reads it once per query head. */
START_TEST(traffic_of_the_cache) {
    static const char *const GROUPED = "--hw toy --model toy --task generate --weights fp16 --set "
                                       "model.kv_heads=1 --engine";
    decode(sim_words(GROUPED, "ideal --attn flash"), 999);
    ck_assert_double_eq(sum(VS_WORK_KV_READ, false), 4 * 1000 * 256.0);
    decode(sim_words(GROUPED, "llamacpp --engine-version b2824"), 999);
    ck_assert_double_eq(sum(VS_WORK_KV_READ_NAIVE, false), 4 * 4 * 1000 * 256.0);
}
END_TEST

/* A rank reads its own heads' part of the cache, and multiplies with it. */
START_TEST(traffic_of_a_rank) {
    static const char *const RANKS[] = {"--gpus 1", "--gpus 2 --tp 2", "--gpus 8 --tp 8"};
    static const double parts[] = {1, 2, 8};
    double bytes = 0, flops = 0;
    for (size_t i = 0; i < 3; i++) {
        decode(
            sim_words("--hw a100 --model llama-3-8b --task generate --engine vllm --weights fp16",
                      RANKS[i]),
            999);
        bytes = i == 0 ? sum(VS_WORK_KV_READ, false) : bytes;
        flops = i == 0 ? sum(VS_WORK_KV_READ, true) : flops;
        ck_assert_double_gt(bytes, 0);
        ck_assert_double_eq(sum(VS_WORK_KV_READ, false), bytes / parts[i]);
        ck_assert_double_eq(sum(VS_WORK_KV_READ, true), flops / parts[i]);
    }
}
END_TEST

/* One memory for both processors: layers that are not the GPU's are computed by the CPU where they
 * are. The GPU's limit (24 GiB of 32) binds only what it uses. */
START_TEST(layers_on_the_cpu_of_one_memory) {
    static const char UNIFIED[] = "--hw m1-max-32c --ram 32GiB --model llama-2-13b --engine "
                                  "llamacpp --task generate --weights fp16 --gpu-layers";
    ck_assert(!sim_memory(sim_words(UNIFIED, "all"))->fits);
    ck_assert(!sim_memory(sim_words(UNIFIED, "20"))->fits);
    ck_assert(sim_memory(sim_words(UNIFIED, "0"))->fits);
    decode(sim_words(UNIFIED, "20"), 100);
    double cpu = sum(VS_WORK_CPU_GEMV, false), gpu = sum(VS_WORK_GEMV, false);
    ck_assert_double_gt(cpu, gpu); /* the head is the CPU's too */
    decode(sim_words(UNIFIED, "all"), 100);
    ck_assert_double_eq(sum(VS_WORK_CPU_GEMV, false), 0);
    ck_assert_double_eq(sum(VS_WORK_GEMV, false), cpu + gpu);
}
END_TEST

/* Weights on the host are copied in only where layers are streamed: experts on the CPU stay. */
START_TEST(host_weights_stay) {
    static const char EXPERTS[] = "--hw a100 --model mixtral-8x7b-v0.1 --task generate --engine "
                                  "llamacpp --weights q4_0 --experts-cpu 16";
    decode(EXPERTS, 100);
    for (size_t i = 0; i < plan.buffers.count; i++)
        ck_assert_int_ne(plan.buffers.at[i].tag, VS_TAG_STREAMED);
    ck_assert_double_gt(sum(VS_WORK_CPU_GEMV, false), 0);
    decode(TOY_GENERATE "--offload stream --gpu-layers 2", 100);
    size_t streamed = 0;
    for (size_t i = 0; i < plan.buffers.count; i++)
        streamed += plan.buffers.at[i].tag == VS_TAG_STREAMED;
    ck_assert_uint_gt(streamed, 0);
}
END_TEST

/* DeepSeek V2 Lite caches 512 + 64 numbers a token and layer for all of its 16 heads; a step
 * attends to them as they are. */
START_TEST(latent_cache) {
    static const char LATENT[] = "--hw a100 --model deepseek-v2-lite --task generate --weights "
                                 "q4_0 --ctx 8k --engine ideal --attn flash";
    const struct vs_outcome *o = sim_memory(LATENT);
    ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_KV_GIB)), 27.0 * 576 * 2 * 8192);
    decode(LATENT, 999);
    ck_assert_double_eq(sum(VS_WORK_KV_READ, false), 27.0 * 576 * 2 * 1000);
    ck_assert_double_eq(sum(VS_WORK_KV_READ, true), 27.0 * 16 * 2 * (576 + 512) * 999.5);
}
END_TEST

/* Qwen3.5 35B: 10 of 40 layers have a cache (2 KV heads of 256); 30 keep a state, however long the
 * sequence: 3 columns of 2 x 16 x 128 + 32 x 128 and 32 x 128 x 128 numbers in fp32. */
START_TEST(recurrent_state) {
    static const char HYBRID[] = "--hw a100 --model qwen3.5-35b-a3b --task generate --weights q4_0 "
                                 "--batch 2 --engine ideal --attn flash --ctx";
    const double state = 4 * (3 * 8192.0 + 32 * 128 * 128);
    static const double cells[] = {4096, 65536};
    for (size_t i = 0; i < 2; i++) {
        const struct vs_outcome *o = sim_memory(sim_words(HYBRID, i == 0 ? "4096" : "65536"));
        ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_KV_GIB)),
                            2 * (30 * state + 10 * 2 * 512 * 2 * cells[i]));
    }
    decode(sim_words(HYBRID, "4096"), 999);
    ck_assert_double_eq(sum(VS_WORK_KV_READ, false), 2 * 10 * 2 * 512 * 2 * 1000.0);
    ck_assert_double_eq(sum(VS_WORK_ELEMENT, false), 2 * 2 * 30 * state);
}
END_TEST

/* ---- interpolation ---- */

/* Time of each step by itself. */
static double run_out(const char *words, uint64_t first, uint64_t count) {
    struct vs_err err = {0};
    double seconds = 0;
    forget();
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    ck_assert(vs_emit_provision(&plan, &phase, &err));
    sim_walk(&x, &phase);
    for (uint64_t i = 0; i < count; i++) {
        sim_decode(&plan, &phase, first + i);
        sim_walk(&x, &phase);
        seconds += sim_time(&x, &phase);
    }
    return seconds;
}

/* The bound that the design sets: 0.2 %. */
START_TEST(interpolated_steps) {
    static const struct {
        const char *words;
        uint64_t prompt, gen;
    } CASES[] = {
        {TOY_GENERATE, 0, 300},
        {TOY_GENERATE "--batch 16 --kv-alloc dynamic ", 500, 200},
        {TOY_GENERATE "--offload cpu --gpu-layers 2 ", 10, 200},
        /* the kernels of a layer grow past its copy: a kink */
        {TOY_GENERATE "--offload stream --batch 8 ", 1, 4000},
        {TOY_GENERATE "--offload stream --gpu-layers 2 --prefetch 0 ", 100, 300},
        {"--hw rtx3090 --model llama-2-7b --engine llamacpp --engine-version b2824 --task generate "
         "--weights q4_k_m ",
         512, 300},
        {"--hw rtx4090 --model mistral-7b-v0.1 --engine llamacpp --task generate --weights q4_0 ",
         3900, 300}, /* the window of 4096 ends the growth: a kink */
        {"--hw rtx4090 --model llama-2-7b --engine llamacpp --task generate --weights q4_0 -ngl "
         "20 ",
         512, 200},
        {"--hw a100 --model llama-3-8b --engine hf --task generate --weights bf16 ", 64, 100},
        {"--hw a100 --model toy --engine hf --task generate --weights bf16 --batch 64 ", 1, 3000},
        {"--hw m2-ultra --model llama-2-7b --engine llamacpp --task generate --weights q8_0 ", 100,
         200},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *words =
            vs_arena_printf(&sim_arena, "%s--prompt %llu --gen %llu", CASES[i].words,
                            (unsigned long long)CASES[i].prompt, (unsigned long long)CASES[i].gen);
        double exact = run_out(words, CASES[i].prompt, CASES[i].gen);
        const struct vs_outcome *o = sim_run(words);
        double found = (double)CASES[i].gen * o->metrics[VS_METRIC_TPOT_S];
        ck_assert_msg(fabs(found / exact - 1) <= 0.002, "%s: %g s, run out %g s", words, found,
                      exact);
    }
}
END_TEST

/* A sequence of decode steps is slower than its first and faster than its last. */
START_TEST(decode_slows_down) {
    const struct vs_outcome *o = sim_run(TOY_GENERATE "--prompt 1000 --gen 1000");
    ck_assert_double_gt(o->metrics[VS_METRIC_TPOT_S], toy_step_s(1, 1001));
    ck_assert_double_lt(o->metrics[VS_METRIC_TPOT_S], toy_step_s(1, 2000));
}
END_TEST

/* Embeddings and head are quantized as all matrices are: 36 bytes for 64 weights. The cache grows
 * by 256 cells of 4 x 1024 bytes. */
START_TEST(mlx) {
    const struct vs_outcome *o = sim_memory("--hw m3-max --model toy --engine mlx --task generate "
                                            "--weights mlx4 --prompt 200 --gen 100");
    double matrices = (4.0 * TOY_LINEAR + 2.0 * TOY_LINEAR) * 36 / 64, norms = (4 * 2 + 1) * 512.0;
    ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_WEIGHTS_GIB)), matrices + norms);
    ck_assert_double_eq(nearbyint(sim_bytes(o, VS_METRIC_KV_GIB)), 512 * 4 * 1024);
    sim_refused("--hw rtx4090 --model toy --engine mlx --task generate", "mlx");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("generation");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, llama3_on_12_gb);
    tcase_add_test(tests, llama2_kv);
    tcase_add_test(tests, growing_cache);
    tcase_add_test(tests, cache_handed_on);
    tcase_add_test(tests, module_by_module);
    tcase_add_test(tests, bound_by_python);
    tcase_add_test(tests, parts_on_the_host);
    tcase_add_test(tests, cache_that_does_not_fit);
    tcase_add_test(tests, decode_of_the_toy);
    tcase_add_test(tests, decode_from_nothing);
    tcase_add_test(tests, work_of_a_prompt);
    tcase_add_test(tests, streamed_decoding);
    tcase_add_test(tests, streamed_prompt);
    tcase_add_test(tests, layers_on_the_cpu);
    tcase_add_test(tests, traffic_of_the_cache);
    tcase_add_test(tests, traffic_of_a_rank);
    tcase_add_test(tests, layers_on_the_cpu_of_one_memory);
    tcase_add_test(tests, host_weights_stay);
    tcase_add_test(tests, latent_cache);
    tcase_add_test(tests, recurrent_state);
    tcase_add_test(tests, interpolated_steps);
    tcase_add_test(tests, decode_slows_down);
    tcase_add_test(tests, mlx);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
