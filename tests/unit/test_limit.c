/* Where memory ends: searches against trying every value, and pools made smaller until a run stops
 * where it must. Ideal's allocator adds nothing, so ends can be worked by hand: the toy's weights
 * take 12,587,520 bytes, a cell of its cache 4 KiB. */
#include <string.h>

#include "sim_helpers.h"

static const struct vs_limit *limit_of(const char *words, enum vs_axis axis) {
    struct vs_request request;
    const struct vs_limit *limit = NULL;
    struct vs_err err = {0};
    bool ok = sim_request(words, &request, &err) &&
              vs_limit_run(&sim_arena, &request, axis, &limit, &err);
    ck_assert_msg(ok, "%s: %s", words, err.text);
    ck_assert_str_eq(limit->axis, vs_axis_info(axis)->name);
    return limit;
}

static bool fits_at(const struct vs_case *c, enum vs_axis axis, int64_t value) {
    struct vs_arena scratch = {0};
    struct vs_fit fit;
    struct vs_err err = {0};
    ck_assert_msg(vs_point_fits_at(&scratch, c, axis, value, 0, &fit, &err), "%s", err.text);
    vs_arena_release(&scratch);
    return fit.fits;
}

/* ---- searches ---- */

/* 10 GiB less the weights, by 16 MiB a sequence of 4096 cells: 639. By 4 KiB a cell: 2,618,366. */
START_TEST(by_hand) {
    const struct vs_limit *l = limit_of(TOY_GENERATE "--ctx 4096", VS_AXIS_BATCH);
    ck_assert_int_eq(l->value, 639);
    ck_assert(!l->open && !l->not_monotone);
    ck_assert_int_eq(l->model_maximum, 0);
    ck_assert(l->at->fits && !l->beyond->fits);
    ck_assert_uint_eq(l->at->pools[0].peak_bytes, 639 * 16 * MIB + 2 * TOY_PARAMS);
    ck_assert_uint_eq(l->beyond->oom->needed_bytes, 640 * 16 * MIB + 2 * TOY_PARAMS);
    l = limit_of(TOY_GENERATE, VS_AXIS_CTX);
    ck_assert_int_eq(l->value, (10 * GIB - 2 * TOY_PARAMS) / (4 * KIB));
    ck_assert_int_eq(l->model_maximum, 4096);
}
END_TEST

/* The answer is that of trying 1, 2, 3 ... until the first failure. */
START_TEST(against_brute_force) {
    static const struct {
        const char *words;
        enum vs_axis axis;
    } CASES[] = {
        {TOY_GENERATE "--set device.memory.usable=14MB", VS_AXIS_CTX},
        {TOY_GENERATE "--set device.memory.usable=13MB --prompt 8 --gen 8", VS_AXIS_BATCH},
        {TOY_GENERATE "--set device.memory.usable=15MB --kv q8_0 --prompt 50 --gen 0",
         VS_AXIS_BATCH},
        {TOY_GENERATE "--set device.memory.usable=6MB --offload cpu", VS_AXIS_GPU_LAYERS},
        {TOY_GENERATE "--set device.memory.usable=14MB --offload stream", VS_AXIS_GPU_LAYERS},
        {TOY_TRAIN "--method full --set device.memory.usable=140MB", VS_AXIS_SEQ},
        {TOY_TRAIN "--method lora --ckpt full --set device.memory.usable=80MB", VS_AXIS_SEQ},
        {TOY_TRAIN "--method full --seq 7 --loss fused --set device.memory.usable=128MB",
         VS_AXIS_MICRO_BATCH},
        {TOY_TRAIN "--method lora --seq 64 --ckpt sqrt --attn naive --set "
                   "device.memory.usable=128MB",
         VS_AXIS_MICRO_BATCH},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct vs_case *c = sim_case(CASES[i].words);
        int64_t n = 0, most = CASES[i].axis == VS_AXIS_GPU_LAYERS ? 5 : 4000;
        while (n < most && fits_at(c, CASES[i].axis, n + 1))
            n++;
        const struct vs_limit *l = limit_of(CASES[i].words, CASES[i].axis);
        ck_assert_msg(l->value == n, "%s: %lld, by trying %lld", CASES[i].words,
                      (long long)l->value, (long long)n);
        ck_assert_msg(n > 0 && n < most, "%s: %lld says nothing", CASES[i].words, (long long)n);
    }
}
END_TEST

/* With PyTorch's allocator the answer is at least an edge: it fits, and one more does not. */
START_TEST(edges_of_a_caching_allocator) {
    static const char *const HF = "--hw toy --model toy --engine hf --task train ";
    static const char *const MORE[] = {
        "--method full --ckpt none --set device.memory.usable=120MB",
        "--method full --ckpt full --loss fused --set device.memory.usable=120MB",
        "--method lora --ckpt none --attn flash --loss fused --set device.memory.usable=80MB",
        "--method lora --ckpt full --expandable-segments on --set device.memory.usable=100MB",
    };
    for (size_t i = 0; i < 4; i++) {
        const char *words = sim_words(HF, MORE[i]);
        const struct vs_limit *l = limit_of(words, VS_AXIS_SEQ);
        const struct vs_case *c = sim_case(words);
        ck_assert_int_gt(l->value, 0);
        ck_assert(fits_at(c, VS_AXIS_SEQ, l->value));
        ck_assert(!fits_at(c, VS_AXIS_SEQ, l->value + 1));
        ck_assert(l->at->fits);
        ck_assert(!l->beyond->fits);
    }
}
END_TEST

/* llama.cpp provisions whole multiples of 256 cells. */
START_TEST(padded_cache) {
    const struct vs_limit *l = limit_of("--hw toy --model toy --engine llamacpp --task generate "
                                        "--weights fp16 --set device.memory.usable=200MB",
                                        VS_AXIS_CTX);
    ck_assert_int_gt(l->value, 256);
    ck_assert_int_eq(l->value % 256, 0);
}
END_TEST

/* Memory does not end the search: 4 Mi tokens, 65,536 sequences. */
START_TEST(open_ends) {
    const struct vs_limit *l =
        limit_of(TOY_GENERATE "--set device.memory.usable=100GB", VS_AXIS_CTX);
    ck_assert(l->open);
    ck_assert_int_eq(l->value, 4194304);
    ck_assert_ptr_null(l->beyond);
    l = limit_of(TOY_GENERATE "--prompt 1 --gen 1", VS_AXIS_BATCH);
    ck_assert(l->open);
    ck_assert_int_eq(l->value, 65536);
}
END_TEST

START_TEST(nothing_fits) {
    const struct vs_limit *l =
        limit_of(TOY_GENERATE "--set device.memory.usable=10MB", VS_AXIS_CTX);
    ck_assert_int_eq(l->value, 0);
    ck_assert(!l->open);
    ck_assert_ptr_null(l->at);
    ck_assert_ptr_nonnull(l->beyond);
    ck_assert_str_eq(l->beyond->oom->phase, "load");
}
END_TEST

/* A cache that grows fills the context that is asked for: no context of 4 Mi tokens on 24 GB. Llama
 * 3 8B in bf16 leaves less than 8 GiB, at 128 KiB a token. */
START_TEST(context_of_a_growing_cache) {
    const struct vs_limit *l = limit_of(
        "--hw rtx4090 --model llama-3-8b --engine hf --task generate --weights bf16", VS_AXIS_CTX);
    ck_assert_msg(!l->open && l->value < 65536, "%lld tokens", (long long)l->value);
    l = limit_of(TOY_GENERATE "--kv-alloc dynamic --set device.memory.usable=20MB", VS_AXIS_CTX);
    ck_assert_msg(!l->open && l->value < 2048, "%lld tokens", (long long)l->value);
}
END_TEST

/* A search may begin at a value that fits, and may try multiples of a grain only. */
START_TEST(from_and_grain) {
    const struct vs_case *c = sim_case(TOY_GENERATE "--set device.memory.usable=20MB");
    const int64_t end = (20000000 - 2 * TOY_PARAMS) / 4096; /* 1809 */
    static const int64_t FROM[] = {0, 1, 64, 113, 1809}, GRAIN[] = {0, 1, 64, 100};
    for (size_t f = 0; f < 5; f++)
        for (size_t g = 0; g < 4; g++) {
            struct vs_arena scratch = {0};
            struct vs_err err = {0};
            struct vs_search s = {.from = FROM[f], .grain = GRAIN[g]};
            int64_t grain = GRAIN[g] > 0 ? GRAIN[g] : 1;
            ck_assert(vs_point_search(&scratch, c, VS_AXIS_CTX, &s, &err));
            vs_arena_release(&scratch);
            int64_t wanted = end / grain * grain > FROM[f] ? end / grain * grain : FROM[f];
            ck_assert_msg(s.value == wanted && !s.open, "from %lld by %lld: %lld, expected %lld",
                          (long long)FROM[f], (long long)grain, (long long)s.value,
                          (long long)wanted);
            ck_assert_int_gt(s.failed, s.value);
        }
}
END_TEST

/* --gpu-layers auto: the most that fit, each with its 640 cells of cache. The head is fifth, 2 MiB
 * like a layer; the embedding always stays on the GPU. */
START_TEST(most_layers) {
    static const struct {
        double layers; /* that the memory has room for */
        const char *word;
    } CASES[] = {{0.5, "0"}, {1.5, "1"}, {3.1, "3"}, {4.5, "4"}, {9, "5"}};
    for (size_t i = 0; i < 5; i++) {
        double bytes = 2.0 * TOY_LINEAR + CASES[i].layers * (TOY_LAYER_BYTES + 640 * 1024);
        const struct vs_outcome *o =
            sim_memory(vs_arena_printf(&sim_arena,
                                       TOY_GENERATE "--offload cpu --gpu-layers auto --set "
                                                    "device.memory.usable=%.0fB",
                                       bytes));
        const char *word = NULL;
        for (size_t k = 0; k < o->strategy_count; k++)
            if (vs_streq(o->strategy[k].axis, "gpu-layers"))
                word = o->strategy[k].word;
        ck_assert_msg(vs_streq(word, CASES[i].word), "room for %g: %s layers", CASES[i].layers,
                      word);
        ck_assert(o->fits);
    }
}
END_TEST

static const char *word_of(const struct vs_outcome *o, const char *axis) {
    for (size_t k = 0; k < o->strategy_count; k++)
        if (vs_streq(o->strategy[k].axis, axis))
            return o->strategy[k].word;
    return "";
}

static int count_of(const struct vs_outcome *o, const char *axis) {
    return (int)strtol(word_of(o, axis), NULL, 10);
}

/* llama.cpp's own fit (from December 2025 on) leaves 1 GiB free; older builds have none, and `auto`
 * is the most that fits. One more layer would leave less. */
START_TEST(engine_leaves_a_margin) {
    const char *words = "--hw rtx3060-12g --model llama-2-13b --engine llamacpp --task generate "
                        "--weights q8_0 --ctx 4096 --gpu-layers ";
    const struct vs_outcome *o = sim_memory(sim_words(words, "auto"));
    double capacity = (double)o->pools[0].capacity_bytes;
    double each = 40.0 * 8192 * 4096 / 40 + 13.0e9 / 40 * 34 / 32; /* a layer and its cache */
    double left = capacity - (double)o->pools[0].peak_bytes;
    ck_assert_double_ge(left, (double)GIB);
    ck_assert_double_lt(left, (double)GIB + each * 1.2);
    int layers = count_of(o, "gpu-layers");
    const struct vs_outcome *older = sim_memory(sim_words(words, "auto --engine-version b7000"));
    int most = count_of(older, "gpu-layers");
    ck_assert(older->fits);
    ck_assert_int_gt(most, layers);
    ck_assert_int_le(most, layers + (int)((double)GIB / each) + 1);
    o = sim_memory(sim_words(words, vs_arena_printf(&sim_arena, "%d", most + 1)));
    ck_assert(!o->fits);
}
END_TEST

/* With experts these leave first, of as few layers as do: one fewer leaves less than the margin.
 * Where the user says where experts are, layers leave. */
START_TEST(experts_leave_first) {
    const char *words = "--hw rtx4090 --model gpt-oss-120b --engine llamacpp --task generate "
                        "--weights mxfp4 --ctx 4096 --ram 128GiB ";
    const struct vs_outcome *o = sim_memory(sim_words(words, "--gpu-layers auto"));
    int experts = count_of(o, "experts-cpu");
    ck_assert_str_eq(word_of(o, "gpu-layers"), "37");
    ck_assert_int_gt(experts, 0);
    ck_assert_int_lt(experts, 36);
    ck_assert_uint_ge(o->pools[0].capacity_bytes - o->pools[0].peak_bytes, GIB);
    o = sim_memory(sim_words(
        words, vs_arena_printf(&sim_arena, "--gpu-layers all --experts-cpu %d", experts - 1)));
    ck_assert_uint_lt(o->pools[0].capacity_bytes - o->pools[0].peak_bytes, GIB);
    o = sim_memory(sim_words(words, "--gpu-layers auto --experts-cpu 0"));
    ck_assert_int_lt(count_of(o, "gpu-layers"), 37);
    ck_assert(o->fits);
}
END_TEST

/* The longest prompt of Llama 2 7B in fp16 on 24 GB, naive attention: 8 bytes for each score of a
 * layer beside weights, context and 512 KiB of cache a token. PyTorch's allocator loses some 5 %
 * more where the growing cache is cut out of the scores' segments; not where segments expand, nor
 * where the cache has its place from the start. */
START_TEST(naive_attention_runs_out) {
    static const struct {
        const char *more;
        double low, high; /* of the closed form */
    } CASES[] = {{"--kv-alloc contiguous", 0.97, 1},
                 {"--expandable-segments on", 0.97, 1},
                 {"", 0.93, 0.97}};
    const char *words =
        "--hw rtx4090 --model llama-2-7b --engine hf --task generate --weights fp16 "
        "--prompt 1000000 --gen 1 --attn naive ";
    const struct vs_outcome *o = sim_memory(
        "--hw rtx4090 --model llama-2-7b --engine hf --task generate --weights fp16 --prompt 1");
    double room = (double)o->pools[0].capacity_bytes - sim_bytes(o, VS_METRIC_WEIGHTS_GIB) -
                  sim_bytes(o, VS_METRIC_NON_TORCH_GIB);
    double a = 8 * 32, b = 512.0 * 1024;
    double closed = (sqrt(b * b + 4 * a * room) - b) / (2 * a);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_search s = {0};
        struct vs_arena scratch = {0};
        struct vs_err err = {0};
        ck_assert(vs_point_search(&scratch, sim_case(sim_words(words, CASES[i].more)), VS_AXIS_CTX,
                                  &s, &err));
        vs_arena_release(&scratch);
        ck_assert_msg((double)s.value > CASES[i].low * closed &&
                          (double)s.value < CASES[i].high * closed,
                      "'%s': %lld of %.0f", CASES[i].more, (long long)s.value, closed);
    }
}
END_TEST

/* Without the scores the cache itself is the bound: 512 KiB a token. */
START_TEST(sdpa_goes_as_far_as_the_cache) {
    const char *words =
        "--hw rtx4090 --model llama-2-7b --engine hf --task generate --weights fp16 "
        "--prompt 1000000 --gen 1 --expandable-segments on --attn ";
    int64_t longest[2];
    for (size_t i = 0; i < 2; i++) {
        struct vs_search s = {0};
        struct vs_arena scratch = {0};
        struct vs_err err = {0};
        ck_assert(vs_point_search(&scratch, sim_case(sim_words(words, i == 0 ? "naive" : "sdpa")),
                                  VS_AXIS_CTX, &s, &err));
        vs_arena_release(&scratch);
        longest[i] = s.value;
    }
    ck_assert_int_gt(longest[1], 3 * longest[0]);
    ck_assert_int_gt(longest[1], 18000); /* 10.3 GiB / 512 KiB = 21,070 less an MLP's activations */
    ck_assert_int_lt(longest[1], 21070);
}
END_TEST

/* A context below prompt and output: both shrink to what the context holds. */
START_TEST(short_contexts) {
    static const int64_t VALUES[] = {1, 2, 100, 600, 640, 5000};
    const struct vs_case *c = sim_case(TOY_GENERATE "--prompt 512 --gen 128");
    for (size_t i = 0; i < 6; i++) {
        struct vs_case with;
        struct vs_err err = {0};
        ck_assert(vs_point_with(&sim_arena, c, VS_AXIS_CTX, VALUES[i], &with, &err));
        int64_t prompt = vs_count(&with.axes, VS_AXIS_PROMPT),
                gen = vs_count(&with.axes, VS_AXIS_GEN);
        ck_assert_int_eq(vs_count(&with.axes, VS_AXIS_CTX), VALUES[i]);
        ck_assert_int_le(prompt + gen, VALUES[i]);
        ck_assert_int_gt(prompt + gen, 0);
        if (VALUES[i] >= 640)
            ck_assert(prompt == 512 && gen == 128);
    }
    ck_assert_int_eq(vs_count(&c->axes, VS_AXIS_PROMPT), 512);
}
END_TEST

/* ---- a smaller pool midway ---- */

static const struct vs_outcome *run_in(const char *words, uint64_t usable_bytes) {
    return sim_run(vs_arena_printf(&sim_arena, "%s --set device.memory.usable=%lluB", words,
                                   (unsigned long long)usable_bytes));
}

/* In a pool of exactly the peak it fits; with a byte less the last byte is missing, and had there
 * been no ceiling the same would have been needed. */
START_TEST(a_byte_less) {
    static const char *const WORDS[] = {
        TOY_GENERATE,
        TOY_GENERATE "--offload stream --prompt 2048",
        TOY_GENERATE "--kv-alloc dynamic --batch 4",
        TOY_TRAIN "--method full --seq 256",
        TOY_TRAIN "--method full --seq 1 --optim-impl foreach",
        TOY_TRAIN "--method full --seq 16 --accum 3 --precision mixed-bf16",
        TOY_TRAIN "--method lora --ckpt full --loss chunked",
        TOY_TRAIN "--method qlora --offload stream --loss fused",
        TOY_TRAIN "--method full --offload-param cpu --ckpt every:2 --seq 64",
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
        const struct vs_outcome *o = sim_run(WORDS[i]);
        ck_assert(o->fits);
        uint64_t peak = o->pools[0].peak_bytes;
        o = run_in(WORDS[i], peak);
        ck_assert_msg(o->fits, "%s in its peak", WORDS[i]);
        ck_assert_uint_eq(o->pools[0].peak_bytes, peak);
        o = run_in(WORDS[i], peak - 1);
        ck_assert_msg(!o->fits, "%s in a byte less", WORDS[i]);
        ck_assert_uint_eq(o->oom->capacity_bytes, peak - 1);
        ck_assert_uint_eq(o->oom->short_bytes, 1);
        ck_assert_uint_eq(o->oom->in_use_bytes + o->oom->requested_bytes, peak);
        ck_assert_uint_eq(o->oom->needed_bytes, peak);
        ck_assert(o->oom->at_s >= 0);
    }
}
END_TEST

/* Bytes per parameter of a full fine-tuning step of one token: 2 loaded, 4 with gradients, 8 with
 * states, 10 with foreach's temporaries. Where the pool ends, the run stops: while loading, in the
 * first backward, when states are made, when temporaries are taken. Later stops come later. */
START_TEST(where_it_must) {
    static const struct {
        double per_param;
        const char *phase, *tensor;
    } CASES[] = {
        {1.9, "load", "lm_head.weight"},
        {3.0, "micro-step", "gradient"},
        {5.0, "optimizer step", "optimizer state"},
        {7.9, "optimizer step", "optimizer state"},
        {8.1, "optimizer step", "optimizer temporary"},
        {9.9, "optimizer step", "optimizer temporary"},
    };
    static const char *const WORDS = TOY_TRAIN "--method full --seq 1 --optim-impl foreach";
    double before = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct vs_outcome *o = run_in(WORDS, (uint64_t)(CASES[i].per_param * TOY_PARAMS));
        ck_assert(!o->fits);
        ck_assert_msg(vs_streq(o->oom->phase, CASES[i].phase) &&
                          strstr(o->oom->tensor, CASES[i].tensor),
                      "%g bytes: %s, %s", CASES[i].per_param, o->oom->phase, o->oom->tensor);
        ck_assert_msg(o->oom->at_s >= before, "%g bytes: %g s", CASES[i].per_param, o->oom->at_s);
        before = o->oom->at_s;
    }
    ck_assert(run_in(WORDS, 10 * TOY_PARAMS)->fits);
}
END_TEST

/* 2048 tokens: what the first micro-step holds fits beside the weights, but not beside the states
 * that the first optimizer step made (4 bytes a parameter). */
START_TEST(only_in_the_second_step) {
    static const char *const WORDS = TOY_TRAIN "--method full --seq 2048 --ckpt full";
    const struct vs_outcome *whole = sim_run(WORDS);
    const struct vs_outcome *o = run_in(WORDS, whole->pools[0].peak_bytes - TOY_PARAMS);
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->phase, "micro-step");
    uint64_t states = 0;
    for (size_t i = 0; i < o->oom->by_tag_count; i++)
        if (vs_streq(o->oom->by_tag[i].tag, "optimizer"))
            states = o->oom->by_tag[i].bytes;
    ck_assert_uint_eq(states, 4ULL * TOY_PARAMS);
    o = run_in(WORDS, whole->pools[0].peak_bytes - 5 * TOY_PARAMS); /* in the first already */
    states = 0;
    for (size_t i = 0; i < o->oom->by_tag_count; i++)
        states += vs_streq(o->oom->by_tag[i].tag, "optimizer");
    ck_assert_str_eq(o->oom->phase, "micro-step");
    ck_assert_uint_eq(states, 0);
}
END_TEST

/* Host memory is a pool too: streamed layers that do not fit into 4 MiB of RAM. */
START_TEST(host_memory_ends) {
    const struct vs_outcome *o = sim_run(TOY_GENERATE "--offload stream --set host.ram=4MiB");
    ck_assert(!o->fits);
    ck_assert_str_eq(o->oom->pool, "host");
    ck_assert_str_eq(o->oom->phase, "load");
    ck_assert_uint_eq(o->oom->needed_bytes, 4 * TOY_LAYER_BYTES);
    ck_assert_double_eq(o->metrics[VS_METRIC_FITS], 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("limit");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_add_test(tests, by_hand);
    tcase_add_test(tests, against_brute_force);
    tcase_add_test(tests, edges_of_a_caching_allocator);
    tcase_add_test(tests, padded_cache);
    tcase_add_test(tests, open_ends);
    tcase_add_test(tests, nothing_fits);
    tcase_add_test(tests, context_of_a_growing_cache);
    tcase_add_test(tests, from_and_grain);
    tcase_add_test(tests, most_layers);
    tcase_add_test(tests, naive_attention_runs_out);
    tcase_add_test(tests, sdpa_goes_as_far_as_the_cache);
    tcase_add_test(tests, engine_leaves_a_margin);
    tcase_add_test(tests, experts_leave_first);
    tcase_add_test(tests, short_contexts);
    tcase_add_test(tests, a_byte_less);
    tcase_add_test(tests, where_it_must);
    tcase_add_test(tests, only_in_the_second_step);
    tcase_add_test(tests, host_memory_ends);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
