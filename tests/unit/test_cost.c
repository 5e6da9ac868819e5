/* What an operation asks of a machine. The toy device reaches its peaks, so most costs are the
 * operation's own FLOPs and bytes; the other rates are put in by hand. */
#include <string.h>

#include "run/cost.h"
#include "sim_helpers.h"

static struct vs_rates rates_of(const char *words) {
    struct vs_rates r;
    vs_rates_init(&r, sim_case(words), 0);
    return r;
}

/* The amount asked of a part; 0 where nothing is. A part stands once. */
static double asked(const struct vs_cost *cost, enum vs_part part) {
    double amount = 0;
    size_t times = 0;
    for (size_t i = 0; i < cost->need_count; i++) {
        if (cost->needs[i].part != part)
            continue;
        amount = cost->needs[i].amount;
        times++;
    }
    ck_assert_uint_le(times, 1);
    return amount;
}

static void expect(const struct vs_cost *cost, size_t count, enum vs_part part, double amount) {
    ck_assert_uint_eq(cost->need_count, count);
    ck_assert_double_eq_tol(asked(cost, part), amount, amount * 1e-12);
}

START_TEST(rates_of_the_toy) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    static const double CAPACITY[VS_PART_COUNT] = {
        [VS_PART_COMPUTE] = 10e12,    [VS_PART_MEMORY] = 100e9,       [VS_PART_H2D] = 10e9,
        [VS_PART_D2H] = 10e9,         [VS_PART_DUPLEX] = 20e9,        [VS_PART_PEER] = 10e9,
        [VS_PART_HOST_MEMORY] = 50e9, [VS_PART_HOST_COMPUTE] = 100e9, [VS_PART_STORAGE] = 0};
    for (int i = 0; i < VS_PART_COUNT; i++) {
        char name[VS_PART_NAME_SIZE];
        vs_part_name((enum vs_part)i, 1, name);
        ck_assert(strchr(name, '.') || vs_streq(name, "net"));
        ck_assert_int_eq(vs_starts(name, "gpu1."), i <= VS_PART_MEMORY);
        if (i != VS_PART_STORAGE)
            ck_assert_double_eq(r.capacity[i], CAPACITY[i]);
        ck_assert(r.capacity[i] > 0);
    }
    for (size_t i = 0; i < VS_CLASS_COUNT; i++) {
        bool eight = i == VS_CLASS_FP8 || i == VS_CLASS_FP8_BLOCKS || i == VS_CLASS_MXFP4;
        ck_assert_double_eq(r.gemm[i], eight ? 20e12 : 10e12); /* it has no fp4 rate */
    }
    ck_assert_double_eq(r.gemm_fp32, 5e12);
    ck_assert_double_eq(r.attention, 10e12);
    for (size_t i = 0; i < VS_CLASS_COUNT; i++)
        ck_assert_double_eq(r.read_fraction[i], 1);
    ck_assert_double_eq(r.stream_fraction, 1);
    ck_assert_double_eq(r.host_fraction, 1);
    ck_assert_double_eq(r.pageable_slowdown, 2); /* 5 of 10 GB/s */
    ck_assert_double_eq(r.launch_s, 0);
    ck_assert_double_eq(r.kernel_s, 0);
    ck_assert(!r.unified);
}
END_TEST

/* --set reaches every rate. */
/* Packed operands have their own rate on devices that have one: fp4 is 4 times the 16-bit rate on
 * the B200 and 5.6 times on the B300. Elsewhere they are unpacked. */
START_TEST(rates_of_packed_operands) {
#define SERVED "--model llama-3.1-8b --engine vllm --task serve --rate 1 --weights bf16 "
    struct vs_rates b200 = rates_of(SERVED "--hw b200"), b300 = rates_of(SERVED "--hw b300");
    struct vs_rates a100 = rates_of(SERVED "--hw a100"), h100 = rates_of(SERVED "--hw h100-sxm");
    ck_assert_double_eq_tol(b200.gemm[VS_CLASS_NVFP4], 0.47 * 9000e12, 1e6);
    ck_assert_double_eq_tol(b300.gemm[VS_CLASS_NVFP4], 0.47 * 12600e12, 1e6);
    ck_assert_double_eq_tol(b300.gemm[VS_CLASS_FP8], 0.6 * 4500e12, 1e6);
    ck_assert_double_eq(a100.gemm[VS_CLASS_FP8], a100.gemm[VS_CLASS_FLOAT]);
    ck_assert_double_eq(a100.gemm[VS_CLASS_FP8_BLOCKS], a100.gemm[VS_CLASS_FLOAT]);
    ck_assert_double_eq(h100.gemm[VS_CLASS_NVFP4], h100.gemm[VS_CLASS_FLOAT]);
    ck_assert_double_eq_tol(h100.gemm[VS_CLASS_FP8_BLOCKS], 0.45 * 1979e12, 1e6);
}
END_TEST

START_TEST(rates_that_are_set) {
    struct vs_rates r = rates_of(TOY_GENERATE "--set device.memory.bandwidth=200GB/s --set "
                                              "link.h2d=20GB/s --set link.pageable=4GB/s");
    ck_assert_double_eq(r.capacity[VS_PART_MEMORY], 200e9);
    ck_assert_double_eq(r.capacity[VS_PART_H2D], 20e9);
    ck_assert_double_eq(r.capacity[VS_PART_D2H], 10e9);
    ck_assert_double_eq(r.pageable_slowdown, 5);
    r = rates_of(TOY_GENERATE "--cpu-threads 4");
    ck_assert_double_eq(r.cpu_flops, 40e9);
    r = rates_of(TOY_GENERATE "--cpu-threads 400");
    ck_assert_double_eq(r.cpu_flops, 100e9); /* 10 cores */
}
END_TEST

START_TEST(matrix_products) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    struct vs_op op = {.kind = VS_WORK_GEMM, .flops = 3e9, .bytes = 7e6, .kernels = 2};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 3e9);
    expect(&cost, 2, VS_PART_MEMORY, 7e6);
    ck_assert_double_eq(cost.latency_s, 0);
    /* fp32 runs at half the rate: twice the share of the 16-bit processor. */
    op.fp32 = true;
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 6e9);
    /* Half of the peak reached: twice the time; each kernel starts and drains. */
    r.gemm[VS_CLASS_FLOAT] = 5e12;
    r.gemm[VS_CLASS_KQUANT] = 2.5e12;
    r.stream_fraction = 0.5;
    r.kernel_s = 1e-6;
    op.fp32 = false;
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 6e9);
    expect(&cost, 2, VS_PART_MEMORY, 14e6);
    op.type = vs_type_find("q4_k");
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 12e9);
    ck_assert_double_eq_tol(cost.latency_s, 2e-6, 1e-18);
}
END_TEST

/* Without a cap a matrix-vector product is a roofline; with one it takes in so many bytes a second
 * whatever the memory does. */
START_TEST(matrix_vector) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    struct vs_op op = {.kind = VS_WORK_GEMV, .flops = 2e6, .bytes = 1e6};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_MEMORY, 1e6);
    expect(&cost, 2, VS_PART_COMPUTE, 2e6);
    for (size_t i = 0; i < VS_CLASS_COUNT; i++)
        r.read_fraction[i] = 0.8;
    r.read_cap[VS_CLASS_KQUANT] = 50e9;
    op.type = vs_type_find("q4_k");
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_MEMORY, 1e6 / 0.8);
    /* 1 MB at 50 GB/s is 20 us of the whole processor. */
    expect(&cost, 2, VS_PART_COMPUTE, 20e-6 * 10e12);
    op.type = vs_type_find("q8_0"); /* another class: no cap */
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 2e6);
}
END_TEST

START_TEST(attention_and_cache) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    r.attention = 5e12;
    r.naive_attention = 2.5e12;
    r.kv_fraction[0] = 0.5;
    r.kv_fraction[1] = 0.25;
    r.kv_cap[1] = 10e9;
    struct vs_op op = {.kind = VS_WORK_ATTENTION, .flops = 1e9, .bytes = 1e6};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 2e9);
    expect(&cost, 2, VS_PART_MEMORY, 1e6);
    op.kind = VS_WORK_NAIVE_ATTENTION;
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 4e9);
    op.fp32 = true;
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_COMPUTE, 2e9);
    op = (struct vs_op){.kind = VS_WORK_KV_READ, .flops = 1e9, .bytes = 1e6};
    cost = vs_cost(&r, &op);
    expect(&cost, 1, VS_PART_MEMORY, 2e6);
    op.efficiency = 0.5; /* of 5 TFLOP/s: latents are worked on while they are read */
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_MEMORY, 2e6);
    expect(&cost, 2, VS_PART_COMPUTE, 4e9);
    op.kind = VS_WORK_KV_READ_NAIVE;
    cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_MEMORY, 4e6);
    expect(&cost, 2, VS_PART_COMPUTE, 1e-4 * 10e12); /* 1 MB at 10 GB/s */
}
END_TEST

START_TEST(memory_work) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    r.stream_fraction = 0.5;
    r.element_scale = 3;
    r.adapter_scale = 5;
    r.dequant_fraction[VS_CLASS_FLOAT] = 0.25;
    static const struct {
        enum vs_work_kind kind;
        double bytes;
    } CASES[] = {{VS_WORK_ELEMENT, 6e6},
                 {VS_WORK_ADAPTER, 10e6},
                 {VS_WORK_DEQUANT, 4e6},
                 {VS_WORK_OPTIMIZER, 2e6}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_op op = {.kind = CASES[i].kind, .bytes = 1e6};
        struct vs_cost cost = vs_cost(&r, &op);
        expect(&cost, 1, VS_PART_MEMORY, CASES[i].bytes);
    }
}
END_TEST

/* A copy takes its direction, the link as a whole, and both memories; pageable ones twice the link.
 */
START_TEST(copies) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    r.link_latency_s = 3e-6;
    struct vs_op op = {.kind = VS_WORK_COPY, .lane = VS_LANE_H2D, .bytes = 1e6, .pinned = true};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 4, VS_PART_H2D, 1e6);
    expect(&cost, 4, VS_PART_DUPLEX, 1e6);
    expect(&cost, 4, VS_PART_MEMORY, 1e6);
    expect(&cost, 4, VS_PART_HOST_MEMORY, 1e6);
    ck_assert_double_eq(cost.latency_s, 3e-6);
    op.pinned = false;
    cost = vs_cost(&r, &op);
    expect(&cost, 4, VS_PART_H2D, 2e6);
    expect(&cost, 4, VS_PART_MEMORY, 1e6);
    op.lane = VS_LANE_D2H;
    cost = vs_cost(&r, &op);
    expect(&cost, 4, VS_PART_D2H, 2e6);
    ck_assert_double_eq(asked(&cost, VS_PART_H2D), 0);
}
END_TEST

/* One memory: a copy reads and writes it, and the CPU shares its bandwidth. */
START_TEST(unified_memory) {
    struct vs_rates r =
        rates_of("--hw m2-ultra --model toy --engine ideal --task generate --weights fp16");
    ck_assert(r.unified);
    ck_assert_double_eq(r.capacity[VS_PART_HOST_MEMORY], r.capacity[VS_PART_MEMORY]);
    struct vs_op op = {.kind = VS_WORK_COPY, .lane = VS_LANE_H2D, .bytes = 1e6};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 1, VS_PART_MEMORY, 2e6);
    op = (struct vs_op){.kind = VS_WORK_CPU_GEMV, .lane = VS_LANE_CPU, .bytes = 1e6, .flops = 5};
    cost = vs_cost(&r, &op);
    ck_assert(asked(&cost, VS_PART_MEMORY) > 0);
    ck_assert_double_eq(asked(&cost, VS_PART_HOST_MEMORY), 0);
}
END_TEST

START_TEST(host_work) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    r.host_fraction = 0.5;
    r.cpu_plain_fraction = 0.5;
    static const enum vs_work_kind KINDS[] = {VS_WORK_CPU_GEMV, VS_WORK_CPU_GEMM,
                                              VS_WORK_CPU_OPTIMIZER};
    for (size_t i = 0; i < 3; i++) {
        struct vs_op op = {.kind = KINDS[i], .lane = VS_LANE_CPU, .flops = 1e6, .bytes = 1e6};
        struct vs_cost cost = vs_cost(&r, &op);
        expect(&cost, 2, VS_PART_HOST_MEMORY, 2e6);
        expect(&cost, 2, VS_PART_HOST_COMPUTE, 1e6);
    }
    struct vs_op op = {.kind = VS_WORK_CPU_ATTENTION, .flops = 1e6, .bytes = 1e6};
    struct vs_cost cost = vs_cost(&r, &op);
    expect(&cost, 2, VS_PART_HOST_COMPUTE, 2e6);
    op = (struct vs_op){.kind = VS_WORK_STORAGE_READ, .bytes = 1e6};
    cost = vs_cost(&r, &op);
    expect(&cost, 1, VS_PART_STORAGE, 1e6);
}
END_TEST

/* What asks for nothing but time, or for nothing. */
START_TEST(fixed_costs) {
    struct vs_rates r = rates_of(TOY_GENERATE);
    struct vs_op op = {.kind = VS_WORK_FIXED, .cost_s = 4e-6, .bytes = 1e9, .flops = 1e9};
    struct vs_cost cost = vs_cost(&r, &op);
    ck_assert_uint_eq(cost.need_count, 0);
    ck_assert_double_eq(cost.latency_s, 4e-6);
    op.kind = VS_WORK_SYNC;
    ck_assert_double_eq(vs_cost(&r, &op).latency_s, 4e-6);
    op = (struct vs_op){.kind = VS_WORK_NOTHING};
    cost = vs_cost(&r, &op);
    ck_assert_uint_eq(cost.need_count, 0);
    ck_assert_double_eq(cost.latency_s, 0);
    /* Work of size 0 asks for nothing: the clock takes no demand of 0. */
    op = (struct vs_op){.kind = VS_WORK_GEMM};
    ck_assert_uint_eq(vs_cost(&r, &op).need_count, 0);
}
END_TEST

/* Large matrix products run into the power limit: the rate is the 4-norm of both. llama.cpp of May
 * 2024 on 16-bit weights: a share of the 16-bit peak, and so many FLOPs per watt of the card. */
START_TEST(power_limit) {
    const struct vs_case *c = sim_case("--hw rtx4090 --model llama-2-7b --engine llamacpp "
                                       "--engine-version b2824 --task generate --weights fp16");
    const struct vs_device *d = c->machine->devices[0];
    const char *arch = d->arch.name;
    struct vs_rates r;
    vs_rates_init(&r, c, 0);
    double a = vs_engine_number(c->engine, "gemm_fraction", arch, 0) * r.capacity[VS_PART_COMPUTE];
    double per_watt =
        vs_engine_number(c->engine, "flops_per_watt", arch, vs_num_or(d->arch.flops_per_watt, 0));
    double b = per_watt * vs_num_or(d->compute.power_w, 0);
    ck_assert(a > 0 && b > 0);
    ck_assert_near(r.gemm[VS_CLASS_FLOAT], pow(pow(a, -4) + pow(b, -4), -0.25), 1e-12);
    ck_assert(r.gemm[VS_CLASS_FLOAT] < a && r.gemm[VS_CLASS_FLOAT] < b);
    /* Ideal has no such rule: the toy reaches 10 TFLOP/s, and not 10 / 2^(1/4). */
    ck_assert_double_eq(rates_of(TOY_GENERATE).gemm[VS_CLASS_FLOAT], 10e12);
}
END_TEST

/* Bytes per clock and SM, from the engine file: 7.5 x 10 SMs x 1 GHz. */
/* 6 large cores at 10 GFLOP/s and 4 small ones at 4: where rows are dealt out evenly, ten threads
 * are no faster than ten small ones. llama.cpp asks for large ones, and lets threads take rows. */
START_TEST(small_cores) {
#define HYBRID_HOST                                                                                \
    "--hw toy --model toy --task generate --weights fp16 --set host.small_core_flops=4GFLOPS "
    static const struct {
        const char *words;
        double gflops;
    } CASES[] = {{"--engine ikllama --attn naive --set host.small_cores=4", 6 * 10 * 1.75},
                 {"--engine ikllama --cpu-threads 10 --set host.small_cores=4", 10 * 4 * 1.75},
                 {"--engine ikllama --cpu-threads 3 --set host.small_cores=4", 3 * 10 * 1.75},
                 {"--engine llamacpp --set host.small_cores=4", 6 * 10},
                 {"--engine llamacpp --cpu-threads 10 --set host.small_cores=4", 6 * 10 + 4 * 4},
                 {"--engine hf --set host.small_cores=4", 10 * 4},
                 {"--engine llamacpp --set host.small_cores=10", 10 * 4},
                 {"--engine llamacpp --set host.small_cores=99", 10 * 4}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vs_rates r = rates_of(sim_words(HYBRID_HOST, CASES[i].words));
        ck_assert_double_eq_tol(r.capacity[VS_PART_HOST_COMPUTE], CASES[i].gflops * 1e9, 1);
    }
}
END_TEST

START_TEST(caps_by_clock) {
    struct vs_rates r = rates_of("--hw toy --model toy --engine llamacpp --engine-version b2824 "
                                 "--task generate --weights q4_0");
    ck_assert_near(r.read_cap[VS_CLASS_LEGACY], 7.5 * 10e9, 1e-12);
    ck_assert_near(r.read_cap[VS_CLASS_FLOAT], 6.8 * 10e9, 1e-12);
    ck_assert_near(r.kv_cap[1], 12 * 10e9, 1e-12);
    ck_assert_double_eq(r.kv_cap[0], 0);
    struct vs_rates ideal = rates_of(TOY_GENERATE);
    for (size_t i = 0; i < VS_CLASS_COUNT; i++)
        ck_assert_double_eq(ideal.read_cap[i], 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cost");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, sim_end);
    tcase_add_test(tests, rates_of_the_toy);
    tcase_add_test(tests, rates_of_packed_operands);
    tcase_add_test(tests, rates_that_are_set);
    tcase_add_test(tests, matrix_products);
    tcase_add_test(tests, matrix_vector);
    tcase_add_test(tests, attention_and_cache);
    tcase_add_test(tests, memory_work);
    tcase_add_test(tests, copies);
    tcase_add_test(tests, unified_memory);
    tcase_add_test(tests, host_work);
    tcase_add_test(tests, fixed_costs);
    tcase_add_test(tests, power_limit);
    tcase_add_test(tests, small_cores);
    tcase_add_test(tests, caps_by_clock);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
