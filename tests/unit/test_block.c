/* Offloaded generation: the block schedule of FlexGen, ZeRO-Inference, Accelerate's device map;
 * bytes by place and step times in closed form. */
#include <string.h>

#include "run/lower.h"
#include "sim_helpers.h"

#define TOY_BLOCK "--hw toy --model toy --engine flexgen --task generate --weights fp16 "

enum {
    TOY_MATRIX = 65536, /* each of q, k, v and o; gate, up and down are four times as large */
    TOY_ATTENTION_BYTES = 2 * 4 * TOY_MATRIX,
    TOY_MLP_BYTES = 2 * (TOY_LINEAR - 4 * TOY_MATRIX),
    TOY_STREAMED_BYTES = 2 * (4 * TOY_LINEAR + 2 * TOY_LINEAR), /* embedding and head too */
    TOY_CELL_BYTES = 2 * 2 * 256                                /* K and V of a token and layer */
};

static struct vs_plan plan;
static struct vs_phase phase;
static struct vs_executor x;

static void forget(void) {
    vs_executor_release(&x);
    vs_plan_release(&plan);
    vs_phase_release(&phase);
    memset(&plan, 0, sizeof plan);
    memset(&phase, 0, sizeof phase);
}

static void end(void) {
    forget();
    sim_end();
}

static void decode(const char *words, uint64_t past) {
    forget();
    sim_plan(&plan, words);
    sim_decode(&plan, &phase, past);
}

static double sum(enum vs_work_kind kind, enum vs_lane lane) {
    double all = 0;
    for (size_t i = 0; i < phase.ops.count; i++)
        if (phase.ops.at[i].kind == kind && phase.ops.at[i].lane == lane)
            all += phase.ops.at[i].bytes;
    return all;
}

static double link_bytes(void) { return sum(VS_WORK_COPY, VS_LANE_H2D); }

static double number(const char *name) { return vs_engine_number(plan.c->engine, name, "toy", 0); }

/* All in RAM; half on the GPU: the last of each list by the middle of its bytes. */
START_TEST(weights_by_percent) {
    double norms = 2.0 * (4 * 512 + 256);
    const struct vs_outcome *o = sim_memory(TOY_BLOCK "--percent 0/100/100/0/100/0");
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_HOST_GIB), TOY_STREAMED_BYTES);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_GIB), norms);
    /* Of q, k, v, o the first two; of gate, up, down the first: the second's middle is the half. */
    double host = 4 * (TOY_ATTENTION_BYTES / 2.0 + TOY_MLP_BYTES / 3.0);
    o = sim_memory(TOY_BLOCK "--percent 50/50/100/0/100/0");
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_HOST_GIB), host);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_GIB), TOY_STREAMED_BYTES - host + norms);
    /* The same on disk: no host memory holds them. */
    o = sim_memory(TOY_BLOCK "--percent 50/0/100/0/100/0");
    ck_assert_double_eq((double)sim_tag(o, "host", "weights"), 0);
    ck_assert_double_eq(sim_bytes(o, VS_METRIC_WEIGHTS_GIB), TOY_STREAMED_BYTES - host + norms);
}
END_TEST

START_TEST(cache_by_percent) {
    const struct vs_outcome *o =
        sim_memory(TOY_BLOCK "--percent 100/0/25/50/100/0 --batch 4 --prompt 96 --gen 32");
    double all = 4 * 4 * 128.0 * TOY_CELL_BYTES;
    ck_assert_double_eq((double)sim_tag(o, "gpu0", "kv"), all / 4);
    ck_assert_double_eq((double)sim_tag(o, "host", "kv"), all / 2);
    ck_assert(o->fits); /* the rest is on disk */
}
END_TEST

/* One load of each weight serves the block, however many GPU batches it has. */
START_TEST(weights_cross_once) {
    decode(TOY_BLOCK "--percent 0/100/100/0/100/0 --batch 4", 100);
    ck_assert_double_eq(link_bytes(), TOY_STREAMED_BYTES);
    decode(TOY_BLOCK "--percent 0/100/100/0/100/0 --batch 4 --gpu-batches 4", 100);
    ck_assert_double_eq(link_bytes(), TOY_STREAMED_BYTES);
    /* More batches than sequences are as many as there are. */
    decode(TOY_BLOCK "--percent 0/100/100/0/100/0 --batch 2 --gpu-batches 4", 100);
    ck_assert_double_eq(link_bytes(), TOY_STREAMED_BYTES);
    /* From disk they are read, too. */
    decode(TOY_BLOCK "--percent 0/0/100/0/100/0 --batch 4", 100);
    ck_assert_double_eq(sum(VS_WORK_STORAGE_READ, VS_LANE_STORAGE), TOY_STREAMED_BYTES);
    ck_assert_double_eq(link_bytes(), TOY_STREAMED_BYTES);
}
END_TEST

/* A small batch: each part is computed while the next, larger one is on the link. Nothing hides the
 * embedding's copy, and nothing is left to copy while the head is computed (memory-bound). */
START_TEST(step_of_streamed_weights) {
    decode(TOY_BLOCK "--percent 0/100/100/0/100/0", 16);
    sim_executor(&x, &plan);
    double link = number("link_fraction") * 10e9;
    double head = (2.0 * TOY_LINEAR + 2 * 512) / (number("stream_fraction") * 100e9);
    ck_assert_near(sim_time(&x, &phase), TOY_STREAMED_BYTES / link + head, 1e-3);
    /* Pageable: the arithmetic of every part waits for the copy of the next. */
    decode(TOY_BLOCK "--percent 0/100/100/0/100/0 --pin-memory off", 16);
    sim_executor(&x, &plan);
    double pageable = number("pageable_link_fraction") * 10e9;
    ck_assert_double_gt(sim_time(&x, &phase), TOY_STREAMED_BYTES / pageable + head);
}
END_TEST

/* A large batch with attention on the CPU: of the first GPU batch's attention the copy of the MLP
 * is hidden, the rest of the block's attention stands alone. */
START_TEST(step_of_attention_on_the_cpu) {
    enum { BATCH = 64, CELLS = 4096 };
    decode(TOY_BLOCK "--percent 100/0/0/100/100/0 --attn-place cpu --batch 64 --gpu-batches 2 "
                     "--prompt 4000 --gen 96",
           CELLS - 1);
    sim_executor(&x, &plan);
    double cache = 4.0 * BATCH * CELLS * TOY_CELL_BYTES;
    ck_assert_double_eq(sum(VS_WORK_CPU_ATTENTION, VS_LANE_CPU), cache);
    ck_assert_double_eq(link_bytes(), 0);
    double attention = cache / number("cpu_cache_bytes_per_s"), all = sim_time(&x, &phase);
    ck_assert_double_gt(all, attention);
    ck_assert_near(all, attention, 0.02);
    decode(TOY_BLOCK "--percent 0/100/0/100/100/0 --attn-place cpu --batch 64 --gpu-batches 2 "
                     "--prompt 4000 --gen 96",
           CELLS - 1);
    sim_executor(&x, &plan);
    /* Copies during attention are free; those during the MLP of the layer before are not. */
    double exposed =
        (4.0 * TOY_ATTENTION_BYTES + 2 * 2 * TOY_LINEAR) / (number("link_fraction") * 10e9);
    ck_assert_near(sim_time(&x, &phase), all + exposed, 0.02);
}
END_TEST

/* A cache in RAM that the GPU attends to crosses the link each step; unpacking is paid for each GPU
 * batch. */
START_TEST(cache_crosses_and_is_unpacked) {
    decode(TOY_BLOCK "--percent 100/0/0/100/100/0 --batch 4 --gpu-batches 2", 128);
    ck_assert_double_eq(link_bytes(), 4 * 4 * 128.0 * TOY_CELL_BYTES);
    static const char *const BATCHES[] = {"--gpu-batches 1", "--gpu-batches 4"};
    double unpacked[2];
    for (int i = 0; i < 2; i++) {
        decode(sim_words("--hw toy --model toy --engine flexgen --task generate --weights int4 "
                         "--batch 4",
                         BATCHES[i]),
               128);
        unpacked[i] = sum(VS_WORK_DEQUANT, VS_LANE_COMPUTE);
    }
    ck_assert_double_eq(unpacked[0], 4 * (2 + 36.0 / 64) * TOY_LINEAR);
    ck_assert_double_eq(unpacked[1], 4 * unpacked[0]);
}
END_TEST

/* The prompt yields the first token: one step less than tokens. */
START_TEST(first_token_is_counted) {
    const struct vs_outcome *o = sim_run(TOY_BLOCK "--prompt 16 --gen 2");
    double prefill = o->metrics[VS_METRIC_TTFT_S], step = o->metrics[VS_METRIC_TPOT_S];
    ck_assert_near(o->metrics[VS_METRIC_E2E_TPS], 2 / (prefill + step), 1e-9);
    o = sim_run(TOY_BLOCK "--prompt 16 --gen 1");
    ck_assert(isnan(o->metrics[VS_METRIC_DECODE_TPS]));
    ck_assert_near(o->metrics[VS_METRIC_E2E_TPS], 1 / o->metrics[VS_METRIC_TTFT_S], 1e-9);
}
END_TEST

#define TOY_ZERO "--hw toy --model toy --engine deepspeed --task generate --weights fp16 "

START_TEST(zero_inference) {
    decode(TOY_ZERO "--gpu-layers 0 --offload stream", 16);
    ck_assert_double_eq(link_bytes(), 4.0 * TOY_LAYER_BYTES);
    ck_assert_double_eq(sum(VS_WORK_STORAGE_READ, VS_LANE_STORAGE), 0);
    decode(TOY_ZERO "--gpu-layers 0 --offload disk", 16);
    ck_assert_double_eq(sum(VS_WORK_STORAGE_READ, VS_LANE_STORAGE), 4.0 * TOY_LAYER_BYTES);
    sim_executor(&x, &plan);
    /* 1 GB/s from disk; the last layer's copy and the arithmetic behind it are some 4 %. */
    ck_assert_near(sim_time(&x, &phase), 4 * TOY_LAYER_BYTES / 1e9, 0.1);
}
END_TEST

/* A cache handed on as a whole: the last step makes 127 cells of all layers beside those of the
 * step before, 126. */
START_TEST(outgrown_cache) {
    const struct vs_outcome *o = sim_memory(TOY_ZERO "--prompt 100 --gen 28");
    ck_assert_near(sim_bytes(o, VS_METRIC_KV_GIB), 4.0 * (126 + 127) * TOY_CELL_BYTES, 1e-3);
}
END_TEST

/* Accelerate brings one layer after the other, and lets disk hold what RAM does not. */
START_TEST(device_map) {
    static const char TOY_HF[] = "--hw toy --model toy --engine hf --task generate --weights fp16 ";
    decode(sim_words(TOY_HF, "--gpu-layers 0 --offload stream"), 16);
    sim_executor(&x, &plan);
    double copies = 4 * TOY_LAYER_BYTES / (number("pageable_link_fraction") * 10e9);
    ck_assert_double_gt(sim_time(&x, &phase), copies);
    decode(sim_words(TOY_HF, "--gpu-layers 0 --offload disk"), 16);
    ck_assert_double_eq(sum(VS_WORK_STORAGE_READ, VS_LANE_STORAGE), 0);
    /* 32 layers of 202,383,360 parameters: 4 GiB hold ten, one of which is the room that is kept.
     */
    decode("--hw toy --model llama-2-7b --engine hf --task generate --weights fp16 --gpu-layers 0 "
           "--offload disk --ram 4GiB",
           16);
    ck_assert_double_eq(sum(VS_WORK_STORAGE_READ, VS_LANE_STORAGE), 23 * 2.0 * 202383360);
}
END_TEST

START_TEST(refused) {
    static const struct {
        const char *words, *says;
    } CASES[] = {
        {TOY_BLOCK "--percent 60/50/100/0/100/0", "60 and 50 are more than 100"},
        {TOY_BLOCK "--percent 100/0/100/0", "found 4 numbers"},
        {TOY_BLOCK "--percent 100/0/x/0/100/0", "found 'x'"},
        {TOY_BLOCK "--percent 101/0/100/0/100/0", "found '101'"},
        {TOY_BLOCK "--offload stream", "does not support"},
        {TOY_ZERO "--gpu-layers 0", "computes no layers on the CPU"},
        {TOY_ZERO "--percent 100/0/100/0/100/0", "does not support"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        sim_refused(CASES[i].words, CASES[i].says);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("offloaded generation");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, weights_by_percent);
    tcase_add_test(tests, cache_by_percent);
    tcase_add_test(tests, weights_cross_once);
    tcase_add_test(tests, step_of_streamed_weights);
    tcase_add_test(tests, step_of_attention_on_the_cpu);
    tcase_add_test(tests, cache_crosses_and_is_unpacked);
    tcase_add_test(tests, first_token_is_counted);
    tcase_add_test(tests, zero_inference);
    tcase_add_test(tests, outgrown_cache);
    tcase_add_test(tests, device_map);
    tcase_add_test(tests, refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
