/* Accelerate's device map: its own tests' answers (huggingface/accelerate:
 * tests/test_modeling_utils.py@16cb6eb, three modules of 64, 72 and 100 bytes), then placement of a
 * whole model. */
#include <string.h>

#include "plan/rules/device_map.h"
#include "sim_helpers.h"

static struct vs_plan plan;

static void end(void) {
    vs_plan_release(&plan);
    memset(&plan, 0, sizeof plan);
    sim_end();
}

/* ---- the rule ---- */

static const uint64_t THREE[] = {64, 72, 100};

static struct vs_map_device main_device(uint64_t limit) {
    return (struct vs_map_device){.limit_bytes = limit, .keeps_room = true};
}
static struct vs_map_device other(uint64_t limit) {
    return (struct vs_map_device){.limit_bytes = limit};
}

static void expect(const uint64_t *modules, size_t count, const struct vs_map_device *devices,
                   size_t device_count, const size_t *places) {
    size_t place[16];
    vs_device_map(modules, count, devices, device_count, place);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(place[i] == places[i], "module %zu is at %zu, expected %zu", i, place[i],
                      places[i]);
}

/* ACC-020, ACC-021: the first GPU keeps room for 100, the second does not. */
START_TEST(first_keeps_room) {
    const struct vs_map_device two[] = {main_device(200), other(200), main_device(0)};
    const struct vs_map_device three[] = {main_device(200), other(172), other(200), main_device(0)};
    const struct vs_map_device less[] = {main_device(200), other(171), other(200), main_device(0)};
    expect(THREE, 3, two, 3, (const size_t[]){0, 1, 1});
    expect(THREE, 3, three, 4, (const size_t[]){0, 1, 1});
    expect(THREE, 3, less, 4, (const size_t[]){0, 1, 2});
}
END_TEST

/* ACC-023: blocks of the three that may be split; ACC-024: that may not. */
START_TEST(blocks) {
    const uint64_t leaves[] = {64, 72, 100, 64, 72, 100, 64, 72, 100}, whole[] = {236, 236, 236};
    const struct vs_map_device two[] = {main_device(500), other(500), main_device(0)};
    expect(leaves, 9, two, 3, (const size_t[]){0, 0, 0, 0, 0, 1, 1, 1, 1});
    expect(whole, 3, two, 3, (const size_t[]){0, 1, 1});
}
END_TEST

/* ACC-026: with buffers the modules are of 144, 232 and 220 bytes. */
START_TEST(host_behind_the_gpu) {
    const uint64_t modules[] = {144, 232, 220};
    const struct vs_map_device devices[] = {main_device(400), main_device(1000000000)};
    expect(modules, 3, devices, 2, (const size_t[]){0, 1, 1});
}
END_TEST

/* A device that is left takes nothing more, even where a later module would fit; the host keeps
 * room too, and disk takes all. */
START_TEST(no_way_back) {
    const uint64_t modules[] = {50, 90, 10, 10};
    const struct vs_map_device devices[] = {main_device(140), main_device(109)};
    expect(modules, 4, devices, 2, (const size_t[]){0, 1, 2, 2});
}
END_TEST

static void balanced(size_t count, const uint64_t *given, const uint64_t *expected) {
    uint64_t limits[4];
    memcpy(limits, given, count * sizeof *limits);
    vs_device_map_balance(236, 236 / 3, limits, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(limits[i], expected[i]);
}

/* ACC-040 to ACC-046: 236 / 2 + 1.25 x 78 = 215 for all but the last. */
START_TEST(balance) {
    balanced(2, (const uint64_t[]){200, 200}, (const uint64_t[]){200, 200});
    balanced(3, (const uint64_t[]){200, 0, 200}, (const uint64_t[]){200, 0, 200});
    balanced(2, (const uint64_t[]){300, 300}, (const uint64_t[]){215, 300});
    balanced(2, (const uint64_t[]){300, 500}, (const uint64_t[]){215, 500});
    balanced(1, (const uint64_t[]){300}, (const uint64_t[]){300});
    balanced(3, (const uint64_t[]){0, 300, 300}, (const uint64_t[]){0, 215, 300});
    balanced(1, (const uint64_t[]){0}, (const uint64_t[]){0});
}
END_TEST

/* ---- the strategy: token embeddings, four layers, norm, head ---- */

#define MAPPED "--hw toy --model toy --engine hf --task generate "

static uint64_t bytes_at(enum vs_home home) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan.weight_count; i++)
        bytes += plan.weights[i].home == home ? plan.weights[i].bytes : 0;
    return bytes;
}

static void map(const char *words) {
    vs_plan_release(&plan);
    memset(&plan, 0, sizeof plan);
    sim_plan(&plan,
             sim_words(strstr(words, "--weights") ? MAPPED : MAPPED "--weights fp16", words));
}

/* 2 MiB each: embedding, layers (1 KiB more), head. 8 MiB keep room for a layer of 2 MiB: the
 * embedding and two layers; 6 MiB of RAM keep room too: two layers; the
 * last norm would fit without the head behind it, so both are on disk. */
START_TEST(given_limits) {
    map("--max-memory 8195KiB+cpu:6146KiB --offload disk");
    ck_assert(plan.mapped && plan.streaming);
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 2 * TOY_LINEAR + 2 * TOY_LAYER_BYTES);
    ck_assert_int_eq(plan.layers[1].home, VS_HOME_GPU);
    ck_assert_int_eq(plan.layers[2].home, VS_HOME_HOST);
    ck_assert_uint_eq(bytes_at(VS_HOME_HOST), 2 * TOY_LAYER_BYTES);
    ck_assert_uint_eq(bytes_at(VS_HOME_STORAGE), 2 * TOY_LINEAR + 2 * 256);
}
END_TEST

/* One GPU gets nine tenths of what is free: the toy's 10 GiB take the whole model, and nothing is
 * streamed. */
START_TEST(automatic) {
    map("--gpu-layers auto --offload stream");
    ck_assert(plan.mapped && !plan.streaming);
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 2 * TOY_PARAMS);
    map("--set device.memory.usable=9216KiB --set arch.context_torch=0B --gpu-layers auto "
        "--offload stream");
    ck_assert(plan.streaming);
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 2 * TOY_LINEAR + 2 * TOY_LAYER_BYTES);
}
END_TEST

/* --gpu-layers N are the first ones; what stands outside the layers stays on the GPU. */
START_TEST(by_count) {
    map("--gpu-layers 1 --offload stream");
    ck_assert_int_eq(plan.layers[0].home, VS_HOME_GPU);
    ck_assert_int_eq(plan.layers[1].home, VS_HOME_HOST);
    ck_assert_uint_eq(bytes_at(VS_HOME_HOST), 3 * TOY_LAYER_BYTES);
    map("--offload stream");
    ck_assert_uint_eq(bytes_at(VS_HOME_HOST), 4 * TOY_LAYER_BYTES);
    map("--gpu-layers 4 --offload stream");
    ck_assert_uint_eq(bytes_at(VS_HOME_HOST), 0);
    ck_assert(!plan.streaming);
}
END_TEST

/* Two GPUs share evenly: half of 12 MiB and 1.25 layers more for the first, which keeps room for a
 * layer besides. */
START_TEST(two_gpus) {
    map("--gpus 2");
    ck_assert_int_eq(plan.layers[1].device, 0);
    ck_assert_int_eq(plan.layers[2].device, 1);
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 2 * TOY_LINEAR + 2 * TOY_LAYER_BYTES);
    map("--gpus 2 --max-memory 1:8MiB+cpu:64MiB --offload stream");
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 0);
    ck_assert_uint_eq(bytes_at(vs_gpu_home(1)), 2 * TOY_LINEAR + 2 * TOY_LAYER_BYTES);
}
END_TEST

/* The CPU holds what bitsandbytes did not pack: 16-bit layers, of which twice as much crosses the
 * link as of packed ones. */
START_TEST(unpacked_on_the_host) {
    map("--weights int8 --gpu-layers 0 --offload stream");
    ck_assert_uint_eq(bytes_at(VS_HOME_HOST), 4 * TOY_LAYER_BYTES);
}
END_TEST

/* A head that lives on the host crosses the link in each pass, as the layers do. */
START_TEST(head_is_fetched) {
    struct vs_phase phase = {0};
    double copied = 0;
    map("--max-memory 4098KiB+cpu:64MiB --offload stream");
    ck_assert_uint_eq(bytes_at(VS_HOME_GPU), 2 * TOY_LINEAR);
    sim_decode(&plan, &phase, 1);
    for (size_t i = 0; i < phase.ops.count; i++)
        copied += phase.ops.at[i].kind == VS_WORK_COPY ? phase.ops.at[i].bytes : 0;
    ck_assert_double_eq(copied, 4.0 * TOY_LAYER_BYTES + 2.0 * TOY_LINEAR);
    vs_phase_release(&phase);
}
END_TEST

START_TEST(refusals) {
    sim_refused(MAPPED "--weights fp16 --max-memory 8MiB", "--offload none: the device map leaves");
    sim_refused(MAPPED "--weights fp16 --max-memory 8MiB+disk:8MiB",
                "found 'disk:8MiB', expected limits");
    sim_refused(MAPPED "--weights fp16 --max-memory 1:8MiB", "found '1:8MiB', expected limits");
    sim_refused(MAPPED "--weights fp16 --max-memory 8x", "found '8x', expected limits");
    sim_refused(
        "--hw m2-max --model toy --engine hf --task generate --weights fp16 --max-memory 8MiB",
        "no GPU with a memory of its own");
    sim_refused(
        "--hw rtx4090 --model toy --engine vllm --task generate --weights fp16 --max-memory 8MiB",
        "does not support it");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device map");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, first_keeps_room);
    tcase_add_test(tests, blocks);
    tcase_add_test(tests, host_behind_the_gpu);
    tcase_add_test(tests, no_way_back);
    tcase_add_test(tests, balance);
    tcase_add_test(tests, given_limits);
    tcase_add_test(tests, automatic);
    tcase_add_test(tests, by_count);
    tcase_add_test(tests, two_gpus);
    tcase_add_test(tests, unpacked_on_the_host);
    tcase_add_test(tests, head_is_fetched);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
