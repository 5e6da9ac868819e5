/* From words to a case: which source a value comes from, which engine is taken, what is refused. */
#include <string.h>

#include "plan/engine_choice.h"
#include "sim_helpers.h"

static struct vs_catalog *catalog;

static void begin(void) { catalog = vs_catalog_in(&sim_arena); }

static struct vs_case resolved(const char *words) {
    struct vs_case c;
    struct vs_err err = {0};
    ck_assert_msg(sim_resolve(catalog, words, &c, &err), "%s: %s", words, err.text);
    return c;
}

static void expect(const struct vs_case *c, enum vs_axis axis, const char *text, int origin) {
    ck_assert_msg(vs_streq(c->axes.at[axis].text, text), "--%s is %s, expected %s",
                  vs_axis_info(axis)->name, c->axes.at[axis].text ? c->axes.at[axis].text : "empty",
                  text);
    if (origin >= 0)
        ck_assert_int_eq(c->axes.origin[axis], origin);
}

/* User > workload > engine file > axis. */
START_TEST(precedence) {
    struct vs_case c = resolved("--hw rtx4090 --workload qlora70b --seq 1k --engine hf");
    expect(&c, VS_AXIS_SEQ, "1024", VS_FROM_USER);
    expect(&c, VS_AXIS_ACCUM, "16", VS_FROM_WORKLOAD);
    expect(&c, VS_AXIS_MODEL, "llama-3-70b", VS_FROM_WORKLOAD);
    expect(&c, VS_AXIS_KBIT_UPCAST, "on", VS_FROM_ENGINE);
    expect(&c, VS_AXIS_LORA_DROPOUT, "0", VS_FROM_AXIS);
    ck_assert_str_eq(c.engine->name, "hf");
    ck_assert_str_eq(c.model->name, "llama-3-70b");
    ck_assert_int_eq(c.task, VS_TASK_TRAIN);
    ck_assert_uint_eq(c.machine->device_count, 1);
}
END_TEST

/* The first engine of the workload that supports all that is given: hf, fsdp, ideal. */
START_TEST(engine_is_chosen) {
    static const struct {
        const char *more, *engine;
    } CASES[] = {
        {"", "hf"},
        {"--offload-param cpu --optim adamw", "fsdp"},
        {"--offload stream", "ideal"},
        {"--loss chunked", "ideal"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_case c = resolved(sim_words("--hw rtx4090 --workload qlora70b", CASES[i].more));
        ck_assert_msg(vs_streq(c.engine->name, CASES[i].engine), "'%s' takes %s, expected %s",
                      CASES[i].more, c.engine->name, CASES[i].engine);
    }
    struct vs_case c = resolved("--hw rtx4090 --model llama-3-8b --task generate --weights q4_k_m");
    ck_assert_str_eq(c.engine->name, "llamacpp");
    c = resolved("--hw rtx4090 --model llama-3-8b --task train");
    ck_assert_str_eq(c.engine->name, "hf");
}
END_TEST

/* The type of the weights follows task, method and precision where nobody names it. */
START_TEST(weights_follow) {
    static const struct {
        const char *more, *weights;
    } CASES[] = {
        {"--task generate", "fp16"},
        {"--task train", "bf16"},
        {"--task train --precision mixed-bf16", "bf16"},
        {"--task train --precision mixed-fp16", "fp16"},
        {"--task train --precision amp", "fp32"},
        {"--task train --precision fp32", "fp32"},
        {"--task train --method lora", "bf16"},
        {"--task train --method qlora", "nf4"},
        {"--task train --method qlora --weights nf4-dq", "nf4-dq"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_case c = resolved(sim_words(TOY, CASES[i].more));
        expect(&c, VS_AXIS_WEIGHTS, CASES[i].weights, -1);
    }
}
END_TEST

START_TEST(context_follows) {
    struct vs_case c = resolved(TOY_GENERATE "--prompt 100 --gen 20 --depth 3");
    expect(&c, VS_AXIS_CTX, "123", VS_FROM_AXIS);
    c = resolved(TOY_GENERATE "--prompt 100 --gen 20 --ctx 4k");
    expect(&c, VS_AXIS_CTX, "4096", VS_FROM_USER);
    sim_refused(TOY_GENERATE "--prompt 100 --gen 20 --ctx 119", "at least 120");
    sim_refused(TOY_GENERATE "--prompt 0 --gen 0", "nothing to run");
}
END_TEST

/* The toy model has 4 layers; 5 stands for them and the output matrix. */
START_TEST(gpu_layers_beyond_the_model_mean_all) {
    struct vs_case c = resolved(TOY_GENERATE "--gpu-layers 99");
    expect(&c, VS_AXIS_GPU_LAYERS, "all", -1);
    c = resolved(TOY_GENERATE "--gpu-layers 4 --offload cpu");
    expect(&c, VS_AXIS_GPU_LAYERS, "4", VS_FROM_USER);
    /* The example of the contract: 99 on a model of 32 layers. */
    c = resolved("--hw rtx4090 --model llama-3-8b --engine llamacpp --task generate --weights "
                 "q4_k_m -ngl 99");
    expect(&c, VS_AXIS_GPU_LAYERS, "all", -1);
}
END_TEST

START_TEST(zero_on_one_device) {
    struct vs_case c = resolved(TOY_TRAIN "--zero 3");
    ck_assert_uint_eq(c.note_count, 1);
    ck_assert_str_eq(c.notes[0], "ZeRO-3 on one device shards nothing");
    c = resolved(TOY_TRAIN "--zero 0");
    ck_assert_uint_eq(c.note_count, 0);
    c = resolved(TOY_TRAIN);
    ck_assert_uint_eq(c.note_count, 0);
    /* The engine's own default is nothing to remark on. */
    c = resolved("--hw rtx4090 --workload qlora70b --engine fsdp --optim adamw");
    expect(&c, VS_AXIS_ZERO, "3", VS_FROM_ENGINE);
    const struct vs_outcome *three = sim_run(TOY_TRAIN "--zero 3");
    const struct vs_outcome *none = sim_run(TOY_TRAIN);
    ck_assert(three->fits);
    ck_assert_double_eq(three->metrics[VS_METRIC_TRAIN_TPS], none->metrics[VS_METRIC_TRAIN_TPS]);
    ck_assert_uint_eq(three->note_count, 1);
}
END_TEST

/* Equal words share what was loaded; a --set makes another machine, and another model. */
START_TEST(catalog_shares) {
    struct vs_case a = resolved(TOY_GENERATE);
    struct vs_case b = resolved(TOY_GENERATE "--batch 4");
    ck_assert_ptr_eq(a.machine, b.machine);
    ck_assert_ptr_eq(a.model, b.model);
    ck_assert_ptr_eq(a.engine, b.engine);
    b = resolved(TOY_GENERATE "--set device.memory.bandwidth=200GB/s --set model.layers=8");
    ck_assert_ptr_ne(a.machine, b.machine);
    ck_assert_double_eq(vs_num_or(a.machine->devices[0]->memory.bandwidth_bytes_per_s, 0), 100e9);
    ck_assert_double_eq(vs_num_or(b.machine->devices[0]->memory.bandwidth_bytes_per_s, 0), 200e9);
    ck_assert_uint_eq(a.model->layers, 4);
    ck_assert_uint_eq(b.model->layers, 8);
}
END_TEST

START_TEST(what_is_missing) {
    sim_refused("--model toy --task train", "--hw is missing");
    sim_refused("--hw toy --task train", "--model is missing");
    sim_refused("--hw toy --model toy", "--task is missing");
    sim_refused("--hw toy --workload no-such", "unknown workload 'no-such'; nearest: ");
    sim_refused("--hw tyo --model toy --task train", "nearest: toy");
    sim_refused("--hw toy --model tyo --task train", "nearest: toy");
    sim_refused("--hw toy --model toy --task train --engine ideel", "nearest: ideal");
    sim_refused("--hw toy --model toy --task train --weights nf5", "nf4");
}
END_TEST

START_TEST(what_is_not_modelled) {
    sim_refused("--hw toy --model deepseek-v3 --task generate --weights fp16 --engine hf",
                "--model deepseek-v3: latent-attention layers are not modelled yet for --task "
                "generate with engine 'hf'; expected a model without them");
    sim_refused("--hw toy --model llama-3.2-11b-vision --task generate --weights fp16",
                "cross-attention layers are not modelled yet");
    sim_refused("--hw toy --model qwen3.5-27b --task train", "linear-attention layers");
}
END_TEST

/* A checkpoint that is stored quantized runs as it is, where the engine can. */
START_TEST(stored_format) {
    struct vs_case c = resolved("--hw rtx4090 --model gpt-oss-20b --task generate");
    expect(&c, VS_AXIS_WEIGHTS, "mxfp4", VS_FROM_WORKLOAD);
    ck_assert_str_eq(c.engine->name, "llamacpp");
    c = resolved("--hw rtx4090 --model gpt-oss-20b --task generate --weights q4_k_m");
    expect(&c, VS_AXIS_WEIGHTS, "q4_k_m", VS_FROM_USER);
    sim_refused("--hw rtx4090 --model minimax-m2.5 --task generate --engine llamacpp",
                "--weights fp8: engine 'llamacpp' as of b7400 does not support it");
}
END_TEST

START_TEST(what_contradicts) {
    sim_refused(TOY_GENERATE "--seq 128", "--seq does not apply to --task generate");
    sim_refused(TOY_TRAIN "--prompt 128", "--prompt does not apply to --task train");
    sim_refused("--hw rtx4090 --model toy --engine llamacpp --task train", "llamacpp");
    sim_refused("--hw rtx4090 --model toy --engine llamacpp --task generate --weights nf4",
                "engine 'llamacpp' as of b7400 does not support it for generate; expected ");
    sim_refused("--hw rtx4090 --model toy --engine hf --task train --ckpt every:2",
                "--ckpt every:2: engine 'hf' as of 4.56 does not support it");
    sim_refused(TOY_TRAIN "--method lora --offload stream --offload-param cpu",
                "--offload stream and --offload-param cpu");
    sim_refused(TOY_TRAIN "--method full --offload stream", "--method full");
    sim_refused(TOY_TRAIN "--method lora --offload stream --ckpt sqrt", "--ckpt sqrt");
    sim_refused(TOY_TRAIN "--ckpt every:5", "expected 1 to 4");
    sim_refused(TOY_TRAIN "--ckpt every:0", "every:0");
    sim_refused(TOY_TRAIN "--method full --lora-rank 8", "--lora-rank does not apply");
    sim_refused(TOY_TRAIN "--optim adamw8bit --optim-impl foreach", "--optim-impl does not apply");
    sim_refused(TOY_GENERATE "--offload none --prefetch 2", "--prefetch does not apply");
    sim_refused(TOY_GENERATE "--kv nosuch", "--kv nosuch");
    sim_refused("--hw m2-ultra --model toy --engine ideal --task generate --offload stream",
                "one memory");
    sim_refused("--hw m2-ultra --model toy --engine ideal --task train --offload-param cpu",
                "one memory");
}
END_TEST

/* What a failure must not do: write into the caller's case. */
START_TEST(failure_leaves_the_case) {
    struct vs_case c = resolved(TOY_GENERATE);
    const struct vs_model *model = c.model;
    struct vs_err err = {0};
    ck_assert(!sim_resolve(catalog, TOY_GENERATE "--seq 4", &c, &err));
    ck_assert_ptr_eq(c.model, model);
}
END_TEST

START_TEST(what_an_engine_can) {
    struct vs_request r;
    struct vs_err err = {0};
    enum vs_axis axis;
    bool can;
    ck_assert(sim_request("--hw rtx4090 --model toy --task train --ckpt every:2", &r, &err));
    ck_assert(vs_engine_can(catalog, &r.user, "hf", "train", &axis, &can, &err));
    ck_assert(!can);
    ck_assert_int_eq(axis, VS_AXIS_CKPT);
    ck_assert(vs_engine_can(catalog, &r.user, "ideal", "train", &axis, &can, &err));
    ck_assert(can);
    ck_assert(vs_engine_can(catalog, &r.user, "llamacpp", "train", &axis, &can, &err));
    ck_assert(!can);
    ck_assert_int_eq(axis, VS_AXIS_TASK);
    ck_assert(!vs_engine_can(catalog, &r.user, "nosuch", "train", &axis, &can, &err));
}
END_TEST

/* A release has its own defaults: flash attention in llama.cpp of 2025, not before. */
START_TEST(releases_differ) {
    static const char *const WORDS = "--hw rtx4090 --model llama-2-7b --engine llamacpp --task "
                                     "generate --weights q4_0 ";
    struct vs_case c = resolved(sim_words(WORDS, "--engine-version b2824"));
    expect(&c, VS_AXIS_ATTN, "naive", VS_FROM_ENGINE);
    c = resolved(WORDS);
    expect(&c, VS_AXIS_ATTN, "flash", VS_FROM_ENGINE);
}
END_TEST

/* --experts-used is a word for the model's number, and other cases keep theirs. */
START_TEST(experts_used) {
    static const char *const WORDS =
        "--hw rtx4090 --model mixtral-8x7b --engine llamacpp --task generate --weights q4_0 ";
    struct vs_case c = resolved(sim_words(WORDS, "--experts-used 1"));
    ck_assert_uint_eq(c.model->experts_active, 1);
    c = resolved(WORDS);
    ck_assert_uint_eq(c.model->experts_active, 2);
    sim_refused(sim_words(WORDS, "--experts-used 9"), "has 8 experts");
}
END_TEST

/* 16 devices of a file that says 8 to a node. */
START_TEST(nodes) {
    static const char *const WORDS =
        "--hw a100 --gpus 16 --model llama-2-7b --engine fsdp --task train ";
    struct vs_case c = resolved(WORDS);
    ck_assert_double_eq(vs_node_devices(&c), 8);
    c = resolved(sim_words(WORDS, "--nodes 4"));
    ck_assert_double_eq(vs_node_devices(&c), 4);
    sim_refused(sim_words(WORDS, "--nodes 3"), "16 devices do not fill so many equal nodes");
    c = resolved("--hw rtx3090 --gpus 10 --model llama-2-7b --engine llamacpp --task generate");
    ck_assert_double_eq(vs_node_devices(&c), 10);
    sim_refused("--hw rtx3090 --gpus 2 --nodes 2 --model llama-2-7b --engine llamacpp "
                "--task generate",
                "runs on the devices of one node");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("resolve");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, sim_end);
    tcase_add_test(tests, precedence);
    tcase_add_test(tests, engine_is_chosen);
    tcase_add_test(tests, weights_follow);
    tcase_add_test(tests, context_follows);
    tcase_add_test(tests, gpu_layers_beyond_the_model_mean_all);
    tcase_add_test(tests, zero_on_one_device);
    tcase_add_test(tests, catalog_shares);
    tcase_add_test(tests, what_is_missing);
    tcase_add_test(tests, what_is_not_modelled);
    tcase_add_test(tests, stored_format);
    tcase_add_test(tests, what_contradicts);
    tcase_add_test(tests, failure_leaves_the_case);
    tcase_add_test(tests, what_an_engine_can);
    tcase_add_test(tests, releases_differ);
    tcase_add_test(tests, experts_used);
    tcase_add_test(tests, nodes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
