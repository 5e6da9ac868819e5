/* What training engines and the axes of sharding, checkpoints, adapters and 8 bits do to bytes, in
 * closed form on the toy model, and what is refused. */
#include "plan_helpers.h"
#include "unit/suite.h"

#define EIGHT "--hw h100-sxm --gpus 8 --model toy --task train --seq 64 "
#define DEEPSPEED EIGHT "--engine deepspeed --method full --precision mixed-bf16 "
#define ONE "--hw h100-sxm --model toy --task train --seq 64 "
static const uint64_t P = TOY_PARAMS;

/* Bytes that last, of one tag, on the GPU or in host memory; a buffer by its own name is left out.
 */
static uint64_t lasting(const char *words, enum vs_tag tag, bool gpu, const char *without) {
    uint64_t bytes = 0;
    forget();
    sim_plan(&plan, words);
    for (size_t i = 0; i < plan.buffers.count; i++) {
        const struct vs_buffer *b = &plan.buffers.at[i];
        if (b->tag == tag && vs_on_gpu(b->home) == gpu && !vs_streq(b->what, without))
            bytes += b->bytes;
    }
    return bytes;
}

/* Most bytes of a tag that a micro-step takes beside what lasts. */
static uint64_t most(const char *words, enum vs_tag tag, bool gpu) {
    uint64_t held = 0, peak = 0;
    forget();
    sim_plan(&plan, words);
    size_t first = plan.buffers.count;
    sim_micro_step(&plan, &phase);
    for (size_t i = 0; i < phase.mem.count; i++) {
        const struct vs_mem_action *m = &phase.mem.at[i];
        const struct vs_buffer *b = &plan.buffers.at[m->buffer];
        if (m->buffer < first || b->tag != tag || vs_on_gpu(b->home) != gpu)
            continue;
        held = m->verb == VS_MEM_GIVE ? held - b->bytes : held + b->bytes;
        peak = held > peak ? held : peak;
    }
    return peak;
}

static double element_traffic(const char *words, const char *what) {
    double bytes = 0;
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    for (size_t i = 0; i < phase.ops.count; i++)
        if (vs_streq(phase.ops.at[i].what, what))
            bytes += phase.ops.at[i].bytes;
    return bytes;
}

/* ---- sharding ---- */

/* Mixed precision, N ranks: 2 of weights, 2 of gradients, 4 of master copy and 8 of Adam states per
 * parameter; stage 1 shards the last two, 2 gradients too, 3 weights too. */
START_TEST(zero_bytes_per_rank) {
    static const struct {
        const char *zero;
        unsigned weights, gradients, optimizer; /* ranks that share them */
    } CASES[] = {{"0", 1, 1, 1}, {"1", 1, 1, 8}, {"2", 1, 8, 8}, {"3", 8, 8, 8}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *words = vs_arena_printf(&sim_arena, DEEPSPEED "--zero %s%s", CASES[i].zero,
                                            i == 3 ? " --zero-persist 0" : "");
        ck_assert_uint_eq(lasting(words, VS_TAG_WEIGHTS, true, ""), 2 * P / CASES[i].weights);
        ck_assert_uint_eq(lasting(words, VS_TAG_GRADIENTS, true, "reduce buckets"),
                          2 * P / CASES[i].gradients);
        ck_assert_uint_eq(lasting(words, VS_TAG_OPTIMIZER, true, ""), 12 * P / CASES[i].optimizer);
    }
}
END_TEST

/* Two groups of four: each rank holds a quarter; the all-reduce between groups is one more
 * collective for every reduce-scatter. */
START_TEST(groups_replicate) {
    const char *words = DEEPSPEED "--zero 3 --zero-group 4 --zero-persist 0";
    ck_assert_uint_eq(lasting(words, VS_TAG_WEIGHTS, true, ""), 2 * P / 4);
    ck_assert_uint_eq(lasting(words, VS_TAG_OPTIMIZER, true, ""), 12 * P / 4);
    sim_micro_step(&plan, &phase);
    double scattered = 0, summed = 0;
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        scattered += vs_streq(op->what, "reduce-scatter") ? op->bytes : 0;
        summed += vs_streq(op->what, "all-reduce") && op->ring.stride == 4 ? op->bytes : 0;
        if (op->kind == VS_WORK_GATHER)
            ck_assert_uint_eq(op->ring.members, 4);
    }
    ck_assert_double_eq(scattered, 2.0 * (double)P);
    ck_assert_double_eq_tol(summed, scattered / 4, 100);
    ck_assert_uint_eq(
        lasting(DEEPSPEED "--zero 3 --zero-group 8 --zero-persist 0", VS_TAG_WEIGHTS, true, ""),
        2 * P / 8);
}
END_TEST

/* Ranks that hold whole gradients sum them once a step, in its last micro-step; shards are reduced
 * in each. */
START_TEST(gradients_summed_once) {
    struct vs_err err = {0};
    for (unsigned early = 0; early < 2; early++) {
        double reduced = 0;
        forget();
        sim_plan(&plan, DEEPSPEED "--zero 1 --accum 4");
        ck_assert(early ? vs_emit_early_micro_step(&plan, &phase, &err)
                        : vs_emit_micro_step(&plan, &phase, &err));
        for (size_t i = 0; i < phase.ops.count; i++)
            reduced += phase.ops.at[i].lane == VS_LANE_COMM ? phase.ops.at[i].bytes : 0;
        ck_assert_double_eq(reduced, early ? 0 : 2.0 * (double)P);
    }
}
END_TEST

/* With several micro-steps a gradient of 2 bytes is read, and its sum read and written; not where
 * the product itself adds to it. */
START_TEST(gradients_added_up) {
    const char *what = "gradients added up";
    ck_assert_double_eq(element_traffic(ONE "--engine hf --method full --precision bf16", what), 0);
    ck_assert_double_eq(
        element_traffic(ONE "--engine hf --method full --precision bf16 --accum 2", what),
        6.0 * (double)P);
    ck_assert_double_eq(element_traffic(ONE "--engine megatron --method full --accum 2", what), 0);
}
END_TEST

/* DeepSpeed's optimizer for bf16 adds up in fp32 beside gradients of 16 bit; fp16 in 16 bit alone;
 * neither is sharded. */
START_TEST(gradients_of_bf16) {
#define MEGATRON_DEEPSPEED EIGHT "--engine megatron-deepspeed --method full "
    ck_assert_uint_eq(
        lasting(MEGATRON_DEEPSPEED "--precision mixed-bf16", VS_TAG_GRADIENTS, true, ""), 6 * P);
    ck_assert_uint_eq(
        lasting(MEGATRON_DEEPSPEED "--precision mixed-fp16", VS_TAG_GRADIENTS, true, ""), 2 * P);
}
END_TEST

/* Composer computes cross entropy and perplexity beside the loss: 28 bytes per logit. */
START_TEST(metrics_of_logits) {
    const double logits = 64.0 * 4096;
    ck_assert_double_eq(element_traffic(ONE "--engine fsdp --method full", "metrics"), 0);
    ck_assert_double_eq(element_traffic(ONE "--engine llm-foundry --method full", "metrics"),
                        28 * logits);
}
END_TEST

/* Stage 3 asks for its weights layer by layer, and pays for it in each pass, on one GPU too. */
START_TEST(hooks_of_one_rank) {
    double launches[2] = {0, 0};
    for (size_t stage = 2; stage <= 3; stage++) {
        forget();
        sim_plan(&plan, vs_arena_printf(&sim_arena,
                                        ONE "--engine deepspeed --method full "
                                            "--precision mixed-bf16 --zero %zu",
                                        stage));
        sim_micro_step(&plan, &phase);
        for (size_t i = 0; i < phase.ops.count; i++)
            if (vs_streq(phase.ops.at[i].what, "hooks of sharded weights"))
                launches[stage - 2] += phase.ops.at[i].launches;
    }
    ck_assert_double_eq(launches[0], 0);
    ck_assert_double_eq_tol(launches[1] * 6.3e-6, 4 * 2 * 0.005, 1e-9);
}
END_TEST

/* States dealt out tensor by tensor, in two groups of four: gradients are summed over all eight
 * ranks; then each of four owners sends its part to the other three, one after another. */
START_TEST(states_by_tensor) {
    struct vs_err err = {0};
    const char *words = EIGHT "--engine internevo --method full --zero 1 --zero-group 4";
    ck_assert_uint_eq(lasting(words, VS_TAG_OPTIMIZER, true, ""), 12 * P / 4);
    sim_micro_step(&plan, &phase);
    double summed = 0, sent = 0;
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        if (op->lane != VS_LANE_COMM)
            continue;
        ck_assert_int_eq(op->kind, VS_WORK_ALL_REDUCE);
        ck_assert_uint_eq(op->ring.members, 8);
        summed += op->bytes;
    }
    ck_assert_double_eq(summed, 2.0 * (double)P);
    forget();
    sim_plan(&plan, words);
    ck_assert(vs_emit_optimizer_step(&plan, &phase, &err));
    size_t turns = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (vs_streq(phase.ops.at[i].what, "broadcast of new weights")) {
            ck_assert_uint_eq(phase.ops.at[i].ring.members, 4);
            sent += phase.ops.at[i].bytes;
            turns++;
        }
    ck_assert_uint_eq(turns, 4);
    ck_assert_double_eq_tol(sent, 2.0 * (double)P, 100);
}
END_TEST

/* A ring of 4 inside a node of 8 moves 3/4 of the array at the node's bus, and so do rings whose
 * members stand 4 apart: each rank has its own way to the switch. Between nodes rings that stand
 * side by side share the network. */
START_TEST(collectives_of_groups) {
    struct vs_rates r;
    vs_rates_init(&r, sim_case(DEEPSPEED "--zero 3 --zero-group 4"), 0);
    const struct vs_op inside = {.kind = VS_WORK_GATHER, .bytes = 8e9, .ring = {4, 1}};
    const struct vs_op apart = {.kind = VS_WORK_ALL_REDUCE, .bytes = 8e9, .ring = {2, 4}};
    const struct vs_op across = {.kind = VS_WORK_ALL_REDUCE, .bytes = 8e9, .ring = {2, 8}};
    ck_assert_double_eq(vs_cost(&r, &inside).needs[0].amount, 6e9);
    ck_assert_double_eq(vs_cost(&r, &apart).needs[0].amount, 8e9);
    ck_assert_double_eq(vs_cost(&r, &across).needs[0].amount, 8 * 8e9);
}
END_TEST

/* In host memory: 12 bytes of states and master copies and 4 of gradients, added up in fp32, for
 * each parameter of a rank; parameters too with their own offload: 18. */
START_TEST(offloaded_optimizer) {
    const char *words = DEEPSPEED "--zero 2 --offload-optim cpu";
    ck_assert_uint_eq(lasting(words, VS_TAG_OPTIMIZER, true, ""), 0);
    ck_assert_uint_eq(lasting(words, VS_TAG_OPTIMIZER, false, ""), 12 * P / 8);
    ck_assert_uint_eq(lasting(words, VS_TAG_GRADIENTS, false, ""), 4 * P / 8);
    ck_assert_uint_eq(lasting(words, VS_TAG_WEIGHTS, true, ""), 2 * P);
    const char *all = DEEPSPEED "--zero 3 --zero-persist 0 --offload-optim cpu --offload-param cpu";
    ck_assert_uint_eq(lasting(all, VS_TAG_WEIGHTS, false, "") +
                          lasting(all, VS_TAG_GRADIENTS, false, "") +
                          lasting(all, VS_TAG_OPTIMIZER, false, ""),
                      18 * P / 8);
    ck_assert_uint_eq(lasting(all, VS_TAG_WEIGHTS, true, ""), 0);
}
END_TEST

/* Two buckets of the given size in stages 1 and 2, one in stage 3; none without sharding. */
START_TEST(reduce_buckets) {
    static const uint64_t COUNT[] = {0, 2, 2, 1};
    for (unsigned stage = 0; stage < 4; stage++) {
        const char *words =
            vs_arena_printf(&sim_arena, DEEPSPEED "--zero-bucket 16MiB --zero %u", stage);
        uint64_t all = lasting(words, VS_TAG_GRADIENTS, true, "");
        ck_assert_uint_eq(all - lasting(words, VS_TAG_GRADIENTS, true, "reduce buckets"),
                          COUNT[stage] * 16 * MIB);
    }
}
END_TEST

/* Buffers of one name that a micro-step takes or makes for good: how many, whether all are of this
 * stream, how many are retired, and the size of the largest. */
struct named {
    size_t count, retired;
    uint64_t most;
    bool of_stream;
};

static struct named of_name(const char *words, const char *what, enum vs_stream stream) {
    struct named n = {.of_stream = true};
    forget();
    sim_plan(&plan, words);
    sim_micro_step(&plan, &phase);
    for (size_t i = 0; i < plan.buffers.count; i++) {
        const struct vs_buffer *b = &plan.buffers.at[i];
        if (!vs_streq(b->what, what))
            continue;
        n.count++;
        n.of_stream &= b->stream == stream;
        n.most = b->bytes > n.most ? b->bytes : n.most;
    }
    for (size_t i = 0; i < phase.mem.count; i++)
        n.retired += phase.mem.at[i].verb == VS_MEM_RETIRE &&
                     vs_streq(plan.buffers.at[phase.mem.at[i].buffer].what, what);
    return n;
}

/* FSDP1, four layers: a unit is gathered on a stream of its own for each forward and each backward,
 * but once at the turn, and each is retired; the flat gradient of a unit, which computing made and
 * another stream reduces, as well; parts are memory of the stream that reduces. */
START_TEST(recorded_collectives) {
#define FSDP EIGHT "--engine fsdp --method full --precision bf16"
    struct named units = of_name(FSDP, "layer weights", VS_STREAM_GATHER);
    ck_assert_uint_eq(units.count, 4 + 3);
    ck_assert_uint_eq(units.retired, 4 + 3);
    ck_assert_uint_eq(units.most, 2 * TOY_LAYER);
    ck_assert(units.of_stream);
    struct named flat = of_name(FSDP, "gradients of a unit", VS_STREAM_COMPUTE);
    ck_assert_uint_eq(flat.count, 4 + 1);
    ck_assert_uint_eq(flat.retired, 4 + 1);
    ck_assert(flat.of_stream);
    ck_assert(of_name(FSDP, "gradient", VS_STREAM_REDUCE).of_stream);
    struct named alone = of_name(DEEPSPEED "--zero 3", "layer weights", VS_STREAM_COMPUTE);
    ck_assert(alone.count == 4 + 3 && alone.retired == 0 && alone.of_stream);
}
END_TEST

/* FSDP2 with fp32 shards: what a collective fills in 16 bit is copied into tensors of the stream
 * that computes; gradients are reduced in fp32 in one buffer; nothing is retired. */
START_TEST(copied_collectives) {
#define FSDP2 EIGHT "--engine fsdp2 --method full --weights fp32 --precision mixed-bf16"
    struct named units = of_name(FSDP2, "layer weights", VS_STREAM_COMPUTE);
    ck_assert_uint_eq(units.count, 2 * (4 + 3));
    ck_assert(!units.of_stream && units.retired == 0);
    struct named flat = of_name(FSDP2, "gradients of a unit", VS_STREAM_COMPUTE);
    ck_assert_uint_eq(flat.count, 4 + 1);
    ck_assert_uint_ge(flat.most, 4 * TOY_LAYER);
    ck_assert(flat.of_stream && flat.retired == 0);
}
END_TEST

/* LitGPT holds the whole model beside its shard. */
START_TEST(whole_model_kept) {
    const char *words = EIGHT "--engine litgpt --method lora --precision bf16 --zero 3";
    const struct vs_outcome *o = sim_memory(words);
    ck_assert_uint_ge(sim_tag(o, "gpu0", "weights"), 2 * P + 2 * P / 8);
    ck_assert_uint_le(sim_tag(o, "gpu0", "weights"), 2 * P + 2 * P / 8 + 64 * KIB);
}
END_TEST

/* ---- checkpoints ---- */

/* By operator: 2d of the input and 2Q + 2KV + 2f of outputs for each of 4 layers and 64 tokens
 * (d = Q = KV = 256, f = 1024). */
START_TEST(checkpoints_by_operator) {
    ck_assert_uint_eq(most(ONE "--engine ideal --ckpt op", VS_TAG_CHECKPOINTS, true),
                      4 * 64 * 2 * (256 + 256 + 256 + 1024));
    ck_assert_uint_eq(most(ONE "--engine ideal --ckpt full", VS_TAG_CHECKPOINTS, true),
                      4 * 64 * 2 * 256);
}
END_TEST

/* In host memory: all eight inputs there, and never more than four on the GPU: two that wait to
 * leave, that of the layer, and what it puts out for the next. */
START_TEST(checkpoints_on_host) {
    static const uint64_t INPUT = 64 * 2 * 256;
    const char *words = ONE "--engine ideal --ckpt full --ckpt-offload cpu --set model.layers=8";
    ck_assert_uint_eq(most(words, VS_TAG_CHECKPOINTS, false), 8 * INPUT);
    ck_assert_uint_le(most(words, VS_TAG_CHECKPOINTS, true), 4 * INPUT);
    sim_refused(ONE "--engine ideal --ckpt sqrt --ckpt-offload cpu", "expected --ckpt full");
    sim_refused(ONE "--engine ideal --ckpt none --ckpt-offload cpu", "expected --ckpt full");
}
END_TEST

/* ---- what is trained ---- */

/* A saved module is trained in a 16-bit copy beside the frozen one: 2 of weights and 2 of gradients
 * more per parameter, and 4 of states. */
START_TEST(saved_modules) {
#define LORA ONE "--engine ideal --method lora --lora-rank 8 --lora-targets q "
    static const uint64_t HEAD = TOY_LINEAR;
    uint64_t weights = lasting(LORA, VS_TAG_WEIGHTS, true, "");
    uint64_t gradients = lasting(LORA, VS_TAG_GRADIENTS, true, "");
    uint64_t states = lasting(LORA, VS_TAG_OPTIMIZER, true, "");
    const char *both = LORA "--lora-save embed+head";
    ck_assert_uint_eq(lasting(both, VS_TAG_WEIGHTS, true, "") - weights, 2 * 2 * HEAD);
    ck_assert_uint_eq(lasting(both, VS_TAG_GRADIENTS, true, "") - gradients, 2 * 2 * HEAD);
    ck_assert_uint_eq(lasting(both, VS_TAG_OPTIMIZER, true, "") - states, 2 * 4 * HEAD);
    ck_assert_uint_eq(lasting(LORA "--lora-save head", VS_TAG_WEIGHTS, true, "") - weights,
                      2 * HEAD);
    sim_refused(ONE "--engine ideal --method full --lora-save head", "does not apply to --method");
    sim_refused(LORA "--lora-save norm", "expected one of embed, head");
}
END_TEST

/* Rank 8 beside a head of 4096 x 256: 8 (4096 + 256) parameters, fp32; LitGPT has them in bf16. */
START_TEST(adapted_head) {
    uint64_t without = lasting(LORA, VS_TAG_ADAPTERS, true, "");
    const char *with = ONE "--engine ideal --method lora --lora-rank 8 --lora-targets q+head";
    ck_assert_uint_eq(lasting(with, VS_TAG_ADAPTERS, true, "") - without, 4 * 8 * (4096 + 256));
    const char *half = ONE "--engine litgpt --method lora --lora-rank 8 --lora-targets head";
    ck_assert_uint_eq(lasting(half, VS_TAG_ADAPTERS, true, ""), 2 * 8 * (4096 + 256));
}
END_TEST

/* bf16: Lion has one state of 2 bytes. Adafactor's are sums of rows and columns in fp32: of four
 * matrices of 256 x 256 and three of 1024 x 256 in a layer, of embedding and head (4096 x 256), and
 * norms as they are. Muon has one of matrices in layers, and Adam's two of the rest. */
START_TEST(states_of_optimizers) {
#define STATES(optim)                                                                              \
    lasting(ONE "--engine ideal --method full --precision bf16 --optim " optim, VS_TAG_OPTIMIZER,  \
            true, "")
    uint64_t layers = 4ULL * TOY_LINEAR, norms = 4 * 2 * 256 + 256;
    ck_assert_uint_eq(STATES("adamw"), 2 * 2 * P);
    ck_assert_uint_eq(STATES("lion"), 2 * P);
    ck_assert_uint_eq(STATES("adafactor"),
                      4 * (4 * (4 * 512 + 3 * 1280) + 2 * (4096 + 256) + norms));
    ck_assert_uint_eq(STATES("muon"), 2 * layers + 2 * 2 * (P - layers));
    uint64_t eight = STATES("lion8bit");
    ck_assert_uint_gt(eight, P);
    ck_assert_uint_lt(eight, P + P / 50); /* scales, and norms in fp32 */
    ck_assert_uint_eq(STATES("paged-adamw"), 2 * 4 * P);
}
END_TEST

/* Muon's update: five steps of 4 m^2 n + 2 m^3 FLOPs for each matrix of m x n. */
START_TEST(orthogonal_updates) {
    struct vs_err err = {0};
    double flops = 0, m = 256, square = 6 * m * m * m, wide = 4 * m * m * 1024 + 2 * m * m * m;
    forget();
    sim_plan(&plan, ONE "--engine ideal --method full --precision bf16 --optim muon");
    ck_assert(vs_emit_optimizer_step(&plan, &phase, &err));
    for (size_t i = 0; i < phase.ops.count; i++)
        flops += vs_streq(phase.ops.at[i].what, "orthogonalize") ? phase.ops.at[i].flops : 0;
    ck_assert_double_eq_tol(flops / (4 * 5 * (4 * square + 3 * wide)), 1, 1e-9);
    sim_refused(ONE "--engine ideal --method full --optim muon --offload-optim cpu",
                "--optim muon runs on a GPU only");
    sim_refused(ONE "--engine ideal --method full --optim adafactor --optim-impl fused",
                "--optim-impl does not apply to --optim adafactor");
}
END_TEST

/* Gradients go as backward makes them: what is held at once is the head and one layer. */
START_TEST(optimizer_in_backward) {
#define IN_BACKWARD ONE "--engine torchtune --method full --precision bf16 --optim-in-bwd on "
    const struct vs_outcome *plain =
        sim_memory(ONE "--engine torchtune --method full --precision bf16");
    const struct vs_outcome *early = sim_memory(IN_BACKWARD);
    ck_assert_double_eq(sim_bytes(plain, VS_METRIC_GRADIENTS_GIB), 2.0 * (double)P);
    ck_assert_double_le(sim_bytes(early, VS_METRIC_GRADIENTS_GIB),
                        2.0 * (TOY_LINEAR + TOY_LAYER + 256));
    ck_assert_double_eq(sim_bytes(early, VS_METRIC_OPTIMIZER_GIB), 4.0 * (double)P);
    sim_refused(IN_BACKWARD "--accum 2", "expected --accum 1");
}
END_TEST

/* ---- 8 bits ---- */

/* Weights stay in 16 bit with their fp32 master copies; products run at the 8-bit rate, after casts
 * of weights and inputs, or weights and output gradients, at 5 bytes per element. */
START_TEST(eight_bit_matrices) {
#define FP8 ONE "--engine fsdp2 --method full --weights bf16 --compile on --precision "
    ck_assert_uint_eq(lasting(FP8 "mixed-fp8", VS_TAG_WEIGHTS, true, ""), 2 * P);
    ck_assert_uint_eq(lasting(FP8 "mixed-fp8", VS_TAG_OPTIMIZER, true, ""), 12 * P);
    struct vs_rates r;
    vs_rates_init(&r, sim_case(FP8 "mixed-fp8"), 0);
    struct vs_op op = {.kind = VS_WORK_GEMM, .flops = 1e12};
    double half = vs_cost(&r, &op).needs[0].amount;
    op.fp8 = true;
    ck_assert_near(half / vs_cost(&r, &op).needs[0].amount, 2 * 1.08, 0.01);
    double in = 5 * 256 + 256 + 1024;      /* q k v gate up, o, down */
    double out = 4 * 256 + 2 * 1024 + 256; /* q k v o, gate up, down */
    if (!plan.c->model->gated_mlp) {
        in -= 256;
        out -= 1024;
    }
    ck_assert_near(element_traffic(FP8 "mixed-fp8", "cast to 8 bit"),
                   4 * 5 * (2.0 * TOY_LINEAR + 64 * (in + out)), 1e-9);
    ck_assert_double_eq(element_traffic(FP8 "mixed-bf16", "cast to 8 bit"), 0);
    sim_refused("--hw a100-80g-sxm --model toy --task train --engine fsdp2 --precision mixed-fp8",
                "has no 8-bit floating point");
}
END_TEST

/* ---- bad input ---- */

START_TEST(refused) {
    sim_refused(DEEPSPEED "--zero 3 --zero-group 3", "does not divide the 8");
    sim_refused(DEEPSPEED "--zero 3 --zero-group 16", "does not divide the 8");
    sim_refused(DEEPSPEED "--zero 0 --zero-group 4", "expected --zero 1, 2 or 3");
    sim_refused(DEEPSPEED "--zero-group 0", "--zero-group");
    sim_refused(DEEPSPEED "--zero-bucket much", "--zero-bucket");
    sim_refused(EIGHT "--engine deepspeed --precision mixed-fp8", "does not support it");
    sim_refused(EIGHT "--engine unsloth --method lora", "several devices are not modelled");
    sim_refused(ONE "--engine unsloth --method full", "does not support it");
    sim_refused(ONE "--engine torchtune --ckpt op", "does not support it");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("train_engines");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, zero_bytes_per_rank);
    tcase_add_test(tests, groups_replicate);
    tcase_add_test(tests, gradients_summed_once);
    tcase_add_test(tests, gradients_added_up);
    tcase_add_test(tests, gradients_of_bf16);
    tcase_add_test(tests, metrics_of_logits);
    tcase_add_test(tests, hooks_of_one_rank);
    tcase_add_test(tests, states_by_tensor);
    tcase_add_test(tests, collectives_of_groups);
    tcase_add_test(tests, offloaded_optimizer);
    tcase_add_test(tests, reduce_buckets);
    tcase_add_test(tests, recorded_collectives);
    tcase_add_test(tests, copied_collectives);
    tcase_add_test(tests, whole_model_kept);
    tcase_add_test(tests, checkpoints_by_operator);
    tcase_add_test(tests, checkpoints_on_host);
    tcase_add_test(tests, saved_modules);
    tcase_add_test(tests, adapted_head);
    tcase_add_test(tests, states_of_optimizers);
    tcase_add_test(tests, orthogonal_updates);
    tcase_add_test(tests, optimizer_in_backward);
    tcase_add_test(tests, eight_bit_matrices);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
