/* Laws, each where it is a theorem, over cases drawn at random. A failure prints its seed:
 * VRAMSIM_SEED=N repeats it. Where no theorem is, see test_anomalies.c. */
#include <stdio.h>
#include <string.h>

#include "des/des.h"
#include "run/lower.h"
#include "unit/sim_helpers.h"

static struct vs_plan plan;
static struct vs_phase phase;
static struct vs_executor x;
static uint64_t seed = 20261129;

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

/* xorshift64 (Marsaglia 2003). */
static uint64_t random_below(uint64_t *state, uint64_t n) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state % n;
}

/* ---- cases at random ---- */

struct choice {
    const char *words[8];
};

static const struct choice TRAIN[] = {
    {{"--method full", "--method lora --lora-targets q+v", "--method lora --lora-dropout 0.1",
      "--method qlora", "--method qlora --kbit-upcast on", NULL}},
    {{"", "--ckpt full", "--ckpt every:2", "--ckpt every:3", "--ckpt sqrt", NULL}},
    {{"", "--optim adamw8bit", "--optim paged-adamw", "--optim paged-adamw8bit", "--optim sgd",
      "--optim-impl loop", "--optim-impl foreach", NULL}},
    {{"", "--precision mixed-bf16", "--precision amp", "--precision fp32", NULL}},
    {{"", "--loss kernel", "--loss chunked", "--loss fused", NULL}},
    {{"", "--offload stream", "--offload stream --prefetch 0", "--offload stream --prefetch 3",
      "--offload-param cpu", "--offload-param cpu --pin-memory off", NULL}},
    {{"", "--attn naive", "--attn sdpa", NULL}},
    {{"", "--kernels eager", "--compile on", NULL}},
    {{"--seq 1", "--seq 17", "--seq 256", NULL}},
    {{"", "--micro-batch 3", "--accum 3", NULL}},
    {{"", "--set model.kv_heads=2", "--set model.layers=7", NULL}},
};
static const struct choice GENERATE[] = {
    {{"", "--kv q8_0", "--kv-alloc dynamic", NULL}},
    {{"", "--offload cpu --gpu-layers 2", "--offload stream", "--offload stream --gpu-layers 1",
      "--offload cpu --gpu-layers 0", "--offload stream --prefetch 0", NULL}},
    {{"", "--attn naive", NULL}},
    {{"", "--batch 3", "--batch 20", NULL}},
    {{"--prompt 0", "--prompt 7", "--prompt 700 --ubatch 200", NULL}},
    {{"--gen 1", "--gen 40", NULL}},
    {{"", "--set model.kv_heads=1", "--set model.layers=9", NULL}},
};

/* Words of a case that exists; NULL when the draw contradicts itself. */
static const char *draw(uint64_t *state, const char *base, const struct choice *choices, size_t n) {
    const struct vs_outcome *outcome;
    const struct vs_run_options options = {.capacity_only = true};
    const char *words = base;
    struct vs_err err = {0};
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        while (choices[i].words[count])
            count++;
        words = sim_words(words, choices[i].words[random_below(state, count)]);
    }
    if (sim_try(words, &options, &outcome, &err))
        return words;
    ck_assert_msg(err.status == VS_ERR_INPUT, "%s: %s", words, err.text);
    return NULL;
}

static const char *draw_train(uint64_t *state) {
    return draw(state, TOY_TRAIN, TRAIN, sizeof TRAIN / sizeof *TRAIN);
}

static const char *draw_generate(uint64_t *state) {
    static const char *const WEIGHTS[] = {"fp16", "q8_0", "q4_k_m", "nf4"};
    const char *base = sim_words(TOY "--task generate --weights", WEIGHTS[random_below(state, 4)]);
    return draw(state, base, GENERATE, sizeof GENERATE / sizeof *GENERATE);
}

enum { CASES = 250 };

/* Runs a check over cases at random. */
static void for_cases(void (*check)(const char *words)) {
    uint64_t state = seed;
    size_t done = 0;
    for (int i = 0; i < CASES; i++) {
        const char *words = i % 2 ? draw_generate(&state) : draw_train(&state);
        if (words) {
            done++;
            check(words);
        }
        end();
    }
    ck_assert_uint_gt(done, CASES / 4);
}

/* ---- bytes are conserved ---- */

static uint8_t *held;
static size_t held_count;

/* Nothing is taken twice, or given back without having been taken. */
static void follow(const char *words) {
    if (plan.buffers.count > held_count) {
        held = realloc(held, plan.buffers.count);
        ck_assert_ptr_nonnull(held);
        memset(held + held_count, 0, plan.buffers.count - held_count);
        held_count = plan.buffers.count;
    }
    for (size_t i = 0; i < phase.mem.count; i++) {
        const struct vs_mem_action *a = &phase.mem.at[i];
        const char *what = plan.buffers.at[a->buffer].what;
        if (a->verb == VS_MEM_TAKE)
            ck_assert_msg(!held[a->buffer], "%s: %s is taken twice", words, what);
        if (a->verb == VS_MEM_GIVE || a->verb == VS_MEM_TOUCH)
            ck_assert_msg(held[a->buffer], "%s: %s is not held", words, what);
        held[a->buffer] = a->verb != VS_MEM_GIVE;
    }
}

static uint64_t allocated(void) {
    uint64_t bytes = vs_pool_stats(x.pools[VS_HOME_GPU]).allocated_bytes;
    return bytes + vs_pool_stats(x.pools[VS_HOME_HOST]).allocated_bytes;
}

static void step(const char *words) {
    follow(words);
    sim_walk(&x, &phase);
}

/* Operations own what lies between their neighbours, and depend on earlier ones only. */
static void well_formed(const char *words) {
    size_t at = 0;
    for (size_t i = 0; i < phase.ops.count; i++) {
        const struct vs_op *op = &phase.ops.at[i];
        ck_assert_msg(op->first_mem == at, "%s: operation %zu", words, i);
        at += op->mem_count;
        for (uint32_t k = 0; k < op->dep_count; k++)
            ck_assert(phase.deps.at[op->first_dep + k] < i);
        ck_assert_msg(op->flops >= 0 && op->bytes >= 0 && op->cost_s >= 0 && op->launches >= 0,
                      "%s: %s", words, op->what);
    }
    ck_assert_uint_le(at, phase.mem.count);
}

/* A step ends with what it began with, and states; the gradients go with the optimizer step. */
static void conserve_training(const char *words) {
    struct vs_err err = {0};
    uint64_t before = allocated(), with_grads = 0, after[3];
    for (int i = 0; i < 3; i++) {
        for (int m = 0; m < 2; m++) {
            ck_assert(vs_emit_micro_step(&plan, &phase, &err));
            well_formed(words);
            step(words);
            if (m == 0)
                with_grads = allocated();
            ck_assert_msg(allocated() == with_grads, "%s: a micro-step leaks", words);
        }
        ck_assert(vs_emit_optimizer_step(&plan, &phase, &err));
        well_formed(words);
        step(words);
        after[i] = allocated();
    }
    ck_assert_msg(after[1] == after[0] && after[2] == after[0], "%s: a step leaks", words);
    ck_assert_uint_ge(after[0], before);
    for (size_t i = 0; i < plan.trained.count; i++)
        ck_assert_msg(!held[plan.trained.at[i].grad], "%s: a gradient stays", words);
}

/* Decoding leaves nothing behind but the cache. */
static void conserve_generation(const char *words) {
    struct vs_err err = {0};
    bool grows = vs_is(&plan.c->axes, VS_AXIS_KV_ALLOC, "dynamic");
    ck_assert(vs_emit_provision(&plan, &phase, &err));
    step(words);
    uint64_t before = allocated();
    for (uint64_t past = 5; past < 9; past++) {
        sim_decode(&plan, &phase, past);
        well_formed(words);
        step(words);
        uint64_t cache = 0;
        for (uint32_t l = 0; grows && l < plan.c->model->layers; l++)
            cache += (uint64_t)vs_count(&plan.c->axes, VS_AXIS_BATCH) *
                     vs_kv_layer_bytes(plan.c->model, l, past + 1, plan.kv_k, plan.kv_v);
        ck_assert_msg(allocated() == before + cache, "%s: a step leaks", words);
    }
}

static void conserve(const char *words) {
    struct vs_err err = {0};
    const struct vs_load_needs needs = {0};
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    ck_assert(vs_emit_load(&plan, &needs, &phase, &err));
    step(words);
    if (plan.c->task == VS_TASK_TRAIN)
        conserve_training(words);
    else
        conserve_generation(words);
    free(held);
    held = NULL;
    held_count = 0;
}

START_TEST(bytes_are_conserved) { for_cases(conserve); }
END_TEST

/* ---- work is conserved, utilization never exceeds 1 ---- */

static void serve(const char *words) {
    struct vs_err err = {0};
    double asked[VS_PART_COUNT] = {0};
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    if (plan.c->task == VS_TASK_TRAIN)
        ck_assert(vs_emit_micro_step(&plan, &phase, &err));
    else
        sim_decode(&plan, &phase, 30);
    const struct vs_unit *u = &x.units[0];
    for (size_t i = 0; i < phase.ops.count; i++) {
        struct vs_cost cost = vs_cost(&u->rates, &phase.ops.at[i]);
        for (size_t k = 0; k < cost.need_count; k++)
            asked[cost.needs[k].part] += cost.needs[k].amount;
    }
    sim_walk(&x, &phase);
    vs_forget_walk(&x);
    double seconds = sim_time(&x, &phase);
    for (int i = 0; i < VS_PART_COUNT; i++) {
        double wanted = asked[i] / u->rates.capacity[i];
        ck_assert_msg(fabs(u->busy_s[i] - wanted) <= 1e-9 * wanted + 1e-15, "%s: part %d", words,
                      i);
        ck_assert_msg(u->busy_s[i] <= seconds * (1 + 1e-9), "%s: part %d at %g", words, i,
                      u->busy_s[i] / seconds);
        ck_assert_msg(u->saturated_s[i] <= seconds * (1 + 1e-9), "%s: part %d", words, i);
    }
    const struct vs_outcome *o = sim_run(words);
    ck_assert_int_eq(o->fits, 1);
    ck_assert_ptr_nonnull(o->bound_by);
    for (size_t i = 0; i < o->utilization_count; i++)
        ck_assert_msg(o->utilization[i].fraction >= 0 && o->utilization[i].fraction <= 1,
                      "%s: %s at %g", words, o->utilization[i].resource,
                      o->utilization[i].fraction);
}

START_TEST(work_is_conserved) { for_cases(serve); }
END_TEST

/* ---- scaling ---- */

/* Every rate of the toy, times k. */
static const char *faster(const char *words, double k) {
    struct vs_text text = {0};
    static const struct {
        const char *path, *unit;
        double value;
    } RATES[] = {
        {"device.memory.bandwidth", "GB/s", 100},
        {"device.compute.fp32", "TFLOPS", 5},
        {"device.compute.tf32", "TFLOPS", 5},
        {"device.compute.fp16", "TFLOPS", 10},
        {"device.compute.bf16", "TFLOPS", 10},
        {"device.compute.fp16_acc16", "TFLOPS", 10},
        {"device.compute.clock", "GHz", 1},
        {"host.bandwidth", "GB/s", 50},
        {"host.flops_per_core", "", 10e9},
        {"link.h2d", "GB/s", 10},
        {"link.d2h", "GB/s", 10},
        {"link.duplex", "GB/s", 20},
        {"link.pageable", "GB/s", 5},
        {"link.mmap", "GB/s", 5},
        {"storage.read", "GB/s", 1},
    };
    vs_text_add(&text, words);
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++)
        vs_text_printf(&text, " --set %s=%.17g%s", RATES[i].path, RATES[i].value * k,
                       RATES[i].unit);
    const char *out = vs_arena_strdup(&sim_arena, vs_text_str(&text));
    vs_text_release(&text);
    return out;
}

/* Times are whole picoseconds: steps of microseconds may be off by that. */
static void scale(const char *words) {
    static const enum vs_metric SPEEDS[] = {VS_METRIC_DECODE_TPS, VS_METRIC_PREFILL_TPS,
                                            VS_METRIC_E2E_TPS, VS_METRIC_TRAIN_TPS};
    static const enum vs_metric TIMES[] = {VS_METRIC_TTFT_S, VS_METRIC_TPOT_S,
                                           VS_METRIC_STEP_TIME_S};
    const struct vs_outcome *o = sim_run(words), *p = sim_run(faster(words, 4));
    for (size_t i = 0; i < 4; i++)
        if (!isnan(o->metrics[SPEEDS[i]]))
            ck_assert_msg(fabs(p->metrics[SPEEDS[i]] / o->metrics[SPEEDS[i]] / 4 - 1) < 1e-5,
                          "%s: %s times %g", words, vs_metric_info(SPEEDS[i])->name,
                          p->metrics[SPEEDS[i]] / o->metrics[SPEEDS[i]]);
    for (size_t i = 0; i < 3; i++)
        if (!isnan(o->metrics[TIMES[i]]))
            ck_assert_near(p->metrics[TIMES[i]] * 4, o->metrics[TIMES[i]], 1e-5);
    ck_assert_str_eq(o->bound_by, p->bound_by);
    ck_assert_uint_eq(o->pools[0].peak_bytes, p->pools[0].peak_bytes);
}

START_TEST(rates_scale_time) { for_cases(scale); }
END_TEST

/* ---- more is not less ---- */

/* A plan on one lane shares nothing: each of its operations is at most as slow as before. */
START_TEST(more_bandwidth) {
    static const char *const WORDS[] = {
        TOY_GENERATE "--prompt 300 --gen 5 --set",
        TOY_GENERATE "--prompt 300 --gen 5 --attn naive --batch 9 --set",
        TOY_TRAIN "--method full --seq 100 --ckpt full --set",
        TOY_TRAIN "--method qlora --seq 300 --kernels eager --attn naive --set",
    };
    uint64_t state = seed;
    for (size_t i = 0; i < 4; i++) {
        double before = 1e30;
        for (double gb = 1; gb < 5000; gb *= 1.01 + (double)random_below(&state, 100) / 100) {
            const struct vs_outcome *o = sim_run(
                vs_arena_printf(&sim_arena, "%s device.memory.bandwidth=%.6gGB/s", WORDS[i], gb));
            double seconds = i < 2 ? o->metrics[VS_METRIC_TTFT_S] + 5 * o->metrics[VS_METRIC_TPOT_S]
                                   : o->metrics[VS_METRIC_STEP_TIME_S];
            ck_assert_msg(seconds <= before * (1 + 1e-9), "%s at %g GB/s", WORDS[i], gb);
            before = seconds;
        }
    }
}
END_TEST

/* Ideal's allocator adds nothing: what fits into a pool fits into every larger one. */
static void more_memory(const char *words) {
    uint64_t peak = sim_memory(words)->pools[0].peak_bytes, state = seed;
    for (int i = 0; i < 6; i++) {
        uint64_t usable = MIB + random_below(&state, 2 * peak);
        const struct vs_outcome *o = sim_memory(vs_arena_printf(
            &sim_arena, "%s --set device.memory.usable=%lluB", words, (unsigned long long)usable));
        ck_assert_msg(o->fits == (usable >= peak), "%s in %llu bytes, peak %llu", words,
                      (unsigned long long)usable, (unsigned long long)peak);
    }
}

/* Managed pages give way instead, so paged optimizers are another matter. */
static void more_memory_unless_paged(const char *words) {
    if (!strstr(words, "paged"))
        more_memory(words);
}

START_TEST(more_memory_fits) { for_cases(more_memory_unless_paged); }
END_TEST

/* Work on a lane that shares nothing with the others changes none of their times. */
static void idle(const char *words) {
    struct vs_err err = {0};
    sim_plan(&plan, words);
    sim_executor(&x, &plan);
    if (plan.c->task == VS_TASK_TRAIN)
        ck_assert(vs_emit_micro_step(&plan, &phase, &err));
    else
        sim_prefill(&plan, &phase, 100, 0);
    vs_forget_walk(&x);
    double seconds = sim_time(&x, &phase);
    size_t n = phase.ops.count;
    vs_time *ends = VS_NEW_ARRAY(&sim_arena, vs_time, n);
    for (size_t i = 0; i < n; i++)
        ends[i] = vs_des_end(x.des, x.activity.at[i]);
    for (size_t i = 0; i < 5; i++)
        ck_assert(vs_vec_push(&phase.ops, ((struct vs_op){.kind = VS_WORK_FIXED,
                                                          .lane = VS_LANE_STORAGE,
                                                          .what = "elsewhere",
                                                          .layer = -1,
                                                          .cost_s = seconds / 9})));
    ck_assert_msg(sim_time(&x, &phase) == seconds, "%s", words);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(vs_des_end(x.des, x.activity.at[i]), ends[i]);
}

START_TEST(idle_lanes_delay_nobody) { for_cases(idle); }
END_TEST

/* ---- the same again ---- */

static void again(const char *words) {
    const struct vs_outcome *a = sim_run(words), *b = sim_run(words), *c = sim_memory(words);
    ck_assert(memcmp(a->metrics, b->metrics, sizeof a->metrics) == 0);
    ck_assert_uint_eq(a->pools[0].peak_bytes, c->pools[0].peak_bytes);
    ck_assert_uint_eq(a->plan_digest, b->plan_digest);
    for (int m = 0; m < VS_METRIC_COUNT; m++) /* the clock changes no memory figure */
        ck_assert_msg(isnan(c->metrics[m]) || c->metrics[m] == a->metrics[m], "%s: %s", words,
                      vs_metric_info((enum vs_metric)m)->name);
}

START_TEST(runs_repeat) { for_cases(again); }
END_TEST

/* ---- a sweep shows plans of equal digests once ---- */

enum { NEIGHBOURS_MOST = 400 };

struct neighbours {
    const char *base;
    const char *words[NEIGHBOURS_MOST];
    const struct vs_outcome *at[NEIGHBOURS_MOST];
    size_t count;
};

static bool come_to_the_same(const struct vs_outcome *a, const struct vs_outcome *b) {
    bool same = a->fits == b->fits && a->pool_count == b->pool_count &&
                memcmp(a->metrics, b->metrics, sizeof a->metrics) == 0;
    for (size_t i = 0; same && i < a->pool_count; i++)
        same = a->pools[i].peak_bytes == b->pools[i].peak_bytes;
    return same;
}

/* What cannot be run is no neighbour. */
static void visit(struct neighbours *n, const char *words) {
    const struct vs_run_options options = {.capacity_only = false};
    const struct vs_outcome *found = NULL;
    struct vs_err err = {0};
    if (!sim_try(sim_words(n->base, words), &options, &found, &err))
        return;
    for (size_t i = 0; i < n->count; i++)
        ck_assert_msg(found->plan_digest != n->at[i]->plan_digest ||
                          come_to_the_same(found, n->at[i]),
                      "%s: '%s' and '%s' have one digest, and different outcomes", n->base, words,
                      n->words[i]);
    ck_assert_uint_lt(n->count, NEIGHBOURS_MOST);
    n->words[n->count] = words;
    n->at[n->count++] = found;
}

/* All words of an axis, each with the number 2 where it takes one. */
static void visit_axis(struct neighbours *n, const struct vs_axis_info *axis) {
    if (axis->words[0] == '\0')
        visit(n, vs_arena_printf(&sim_arena, "--%s 2", axis->name));
    for (const char *at = axis->words; *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        char *word = vs_arena_strndup(&sim_arena, at, length);
        char *number = strchr(word, '#');
        if (number)
            *number = '2';
        visit(n, vs_arena_printf(&sim_arena, "--%s %s", axis->name, word));
        at += length;
    }
}

START_TEST(equal_digests_equal_outcomes) {
    static const char *const BASES[] = {
        TOY_TRAIN "--method full --seq 256 --accum 2",
        TOY_TRAIN "--method lora --seq 256 --ckpt full",
        TOY_TRAIN "--method full --seq 256 --offload-param cpu",
        "--hw toy --gpus 2 --model toy --engine ideal --task train --method full --zero 3 --seq 64",
        TOY_GENERATE "--prompt 64 --gen 8 --batch 2",
        TOY_GENERATE "--prompt 64 --gen 8 --offload stream --gpu-layers 1",
        "--hw rtx4090 --gpus 2 --model llama-3-8b --engine llamacpp --task generate --weights fp16",
        "--hw rtx4090 --model mixtral-8x7b --engine llamacpp --task generate --weights q4_0 "
        "--gpu-layers 9",
        "--hw t4 --model opt-6.7b --engine flexgen --task generate --weights fp16 --percent "
        "20/80/100/0/100/0 --gen 4",
        "--hw h100 --model llama-3-8b --engine vllm --task serve --prompt 64 --gen 8 --requests 9",
    };
    struct neighbours n = {.base = BASES[_i]};
    visit(&n, "");
    ck_assert_uint_eq(n.count, 1);
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *axis = vs_axis_info((enum vs_axis)i);
        if (vs_streq(axis->group, "strategy") || vs_streq(axis->group, "engine"))
            visit_axis(&n, axis);
    }
    ck_assert_uint_gt(n.count, 10);
}
END_TEST

int main(void) {
    const char *given = getenv("VRAMSIM_SEED");
    if (given)
        seed = strtoull(given, NULL, 10) | 1;
    Suite *suite = suite_create("laws");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, bytes_are_conserved);
    tcase_add_test(tests, work_is_conserved);
    tcase_add_test(tests, rates_scale_time);
    tcase_add_test(tests, more_bandwidth);
    tcase_add_test(tests, more_memory_fits);
    tcase_add_test(tests, idle_lanes_delay_nobody);
    tcase_add_test(tests, runs_repeat);
    tcase_add_loop_test(tests, equal_digests_equal_outcomes, 0, 10);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    if (status != EXIT_SUCCESS)
        (void)fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    return status;
}
