/* run --plan-out: the document is complete. A replay of what it says, with nothing but the clock
 * and sums of bytes, must find the time and the peak that the run finds. */
#include <string.h>

#include "base/json.h"
#include "des/des.h"
#include "sim_helpers.h"

enum { OPS_MAX = 4096, BUFFERS_MAX = 8192, NAMES_MAX = 16 };

static struct vs_text text;
static const struct vs_json *root;

static void end(void) {
    vs_text_release(&text);
    sim_end();
}

static void write_plan(const char *words) {
    struct vs_request request;
    struct vs_err err = {0};
    ck_assert_msg(sim_request(words, &request, &err) && vs_run_plan_json(&request, &text, &err) &&
                      vs_json_parse(&sim_arena, "plan", text.at, text.length, &root, &err),
                  "%s: %s", words, err.text);
}

static const struct vs_json *at(const struct vs_json *object, const char *key) {
    const struct vs_json *member = vs_json_member(object, key);
    ck_assert_msg(member != NULL, "no key %s", key);
    return member;
}

static const struct vs_json *nth(const struct vs_json *array, size_t n) {
    const struct vs_json *node = array->child;
    while (node && n-- > 0)
        node = node->next;
    ck_assert_ptr_nonnull(node);
    return node;
}

/* The place of an entry by its name; a new one where none is. */
static size_t place(const char **names, size_t *count, const char *name) {
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    ck_assert_uint_lt(*count, NAMES_MAX);
    names[*count] = name;
    return (*count)++;
}

/* ---- a replay ---- */

struct clock {
    struct vs_des *des;
    const char *resources[NAMES_MAX], *lanes[NAMES_MAX];
    size_t resource_count, lane_count;
    vs_resource resource[NAMES_MAX];
    vs_stream lane[NAMES_MAX], issue;
    vs_activity done[OPS_MAX];
};

static void clock_begin(struct clock *k) {
    *k = (struct clock){.des = vs_des_new()};
    for (const struct vs_json *r = at(root, "resources")->child; r; r = r->next) {
        size_t i = place(k->resources, &k->resource_count, at(r, "name")->string);
        k->resource[i] = vs_des_resource(k->des, at(r, "capacity")->number);
    }
    for (size_t i = 0; i < NAMES_MAX; i++)
        k->lane[i] = vs_des_stream(k->des);
    k->issue = vs_des_stream(k->des);
}

static vs_time ticks(double seconds) { return (vs_time)(seconds * (double)VS_TIME_PER_S + 0.5); }

static vs_activity replay_op(struct clock *k, const struct vs_json *op) {
    vs_activity after[64];
    struct vs_demand demands[VS_DEMANDS_MAX];
    size_t n = 0, demand_count = 0;
    for (const struct vs_json *a = at(op, "after")->child; a; a = a->next)
        after[n++] = k->done[a->integer];
    double issue_s = at(op, "launches")->number * at(root, "launch_s")->number;
    if (issue_s > 0)
        after[n++] = vs_des_add(
            k->des, &(struct vs_activity_spec){.stream = k->issue, .latency = ticks(issue_s)});
    for (const struct vs_json *d = at(op, "needs")->child; d; d = d->next)
        demands[demand_count++] = (struct vs_demand){
            k->resource[place(k->resources, &k->resource_count, d->key)], d->number};
    return vs_des_add(
        k->des, &(struct vs_activity_spec){
                    .stream = k->lane[place(k->lanes, &k->lane_count, at(op, "lane")->string)],
                    .latency = ticks(at(op, "latency_s")->number),
                    .demands = demands,
                    .demand_count = demand_count,
                    .after = after,
                    .after_count = n});
}

static double replay_time(struct clock *k, const struct vs_json *phase) {
    struct vs_err err = {0};
    size_t n = 0;
    vs_des_reset(k->des);
    for (const struct vs_json *op = at(phase, "operations")->child; op; op = op->next) {
        ck_assert_uint_lt(n, OPS_MAX);
        k->done[n] = replay_op(k, op);
        ck_assert_uint_ne(k->done[n++], VS_NONE);
    }
    ck_assert_msg(vs_des_run(k->des, &err), "%s", err.text);
    return (double)vs_des_now(k->des) / (double)VS_TIME_PER_S;
}

/* Sums of what is held on the device: what an allocator that wastes nothing would show. */
struct sums {
    uint64_t bytes[BUFFERS_MAX], now, peak;
    bool here[BUFFERS_MAX], held[BUFFERS_MAX];
};

static void sums_begin(struct sums *s) {
    size_t n = 0;
    memset(s, 0, sizeof *s);
    for (const struct vs_json *b = at(root, "buffers")->child; b; b = b->next, n++) {
        ck_assert_uint_lt(n, BUFFERS_MAX);
        s->bytes[n] = at(b, "bytes")->integer;
        s->here[n] = strcmp(at(b, "home")->string, "gpu0") == 0;
    }
}

static void replay_action(struct sums *s, const struct vs_json *action) {
    const char *verb = at(action, "verb")->string;
    size_t b = at(action, "buffer")->integer;
    uint64_t bytes = s->here[b] ? s->bytes[b] : 0;
    bool gives = strcmp(verb, "give") == 0;
    if (strcmp(verb, "touch") == 0 || (strcmp(verb, "ensure") == 0 && s->held[b]))
        return;
    if (gives) {
        s->now -= s->held[b] ? bytes : 0;
    } else {
        s->now += bytes;
        s->peak = s->now > s->peak ? s->now : s->peak;
        if (s->held[b])
            s->now -= bytes; /* accumulate: a temporary */
    }
    s->held[b] = !gives;
}

static void replay_memory(struct sums *s, const struct vs_json *phase) {
    for (const struct vs_json *op = at(phase, "operations")->child; op; op = op->next)
        for (const struct vs_json *a = at(op, "memory")->child; a; a = a->next)
            replay_action(s, a);
    for (const struct vs_json *a = at(phase, "memory_at_end")->child; a; a = a->next)
        replay_action(s, a);
}

/* ---- tests ---- */

/* 39 tensors; the rank of the adapters, and no layer outside the layers. */
START_TEST(what_stands_where) {
    write_plan(TOY_TRAIN "--method lora --lora-rank 8 --seq 128 --accum 3");
    ck_assert_str_eq(at(root, "schema")->string, "vramsim-plan/1");
    const struct vs_json *what = at(root, "case");
    ck_assert_str_eq(at(what, "model")->string, "toy");
    ck_assert_str_eq(at(at(what, "strategy"), "lora-rank")->string, "8");
    const struct vs_json *gpu = nth(at(root, "pools"), 1);
    ck_assert_uint_eq(at(root, "pools")->count, 3);
    for (const struct vs_json *p = at(root, "pools")->child; p; p = p->next)
        gpu = strcmp(at(p, "name")->string, "gpu0") == 0 ? p : gpu;
    ck_assert_uint_eq(at(gpu, "capacity_bytes")->integer, 10 * GIB);
    ck_assert_str_eq(nth(at(gpu, "homes"), 0)->string, "gpu0");
    const struct vs_json *compute = nth(at(root, "resources"), 0);
    ck_assert_str_eq(at(compute, "name")->string, "gpu0.compute");
    ck_assert_double_eq(at(compute, "capacity")->number, 1e13);
    ck_assert_str_eq(at(compute, "unit")->string, "FLOP/s");
    ck_assert_uint_eq(at(root, "tensors")->count, 39);
    const struct vs_json *q = nth(at(root, "tensors"), 2);
    ck_assert_str_eq(at(q, "name")->string, "model.layers.0.self_attn.q_proj.weight");
    ck_assert_uint_eq(at(q, "bytes")->integer, 2 * 256 * 256);
    ck_assert_str_eq(at(q, "home")->string, "gpu0");
    ck_assert(!at(q, "trainable")->boolean);
    ck_assert_uint_eq(at(q, "adapter_rank")->integer, 8);
    const struct vs_json *held = nth(at(root, "buffers"), at(q, "buffer")->integer);
    ck_assert_str_eq(at(held, "what")->string, at(q, "name")->string);
    ck_assert_str_eq(at(held, "tag")->string, "weights");
    ck_assert_int_eq(at(nth(at(root, "buffers"), 0), "layer")->kind, VS_JSON_NULL);
}
END_TEST

static void phases_are(const char *const *names, const uint64_t *counts, size_t count) {
    const struct vs_json *phase = at(root, "phases")->child;
    ck_assert_uint_eq(at(root, "phases")->count, count);
    for (size_t i = 0; i < count; i++, phase = phase->next) {
        ck_assert_str_eq(at(phase, "name")->string, names[i]);
        ck_assert_uint_eq(at(phase, "count")->integer, counts[i]);
    }
}

START_TEST(phases_of_training) {
    write_plan(TOY_TRAIN "--method lora --seq 128 --accum 3");
    phases_are((const char *const[]){"load", "micro-step", "optimizer step"},
               (const uint64_t[]){1, 3, 1}, 3);
}
END_TEST

/* 600 tokens in three passes of one phase: three times the operations of a prompt in one pass, less
 * two heads. Five tokens are generated: the first and the last stand in the plan. */
START_TEST(phases_of_generation) {
    static const char *const NAMES[] = {"load", "provision", "prefill", "decode", "decode"};
    write_plan(TOY_GENERATE "--prompt 600 --gen 5 --depth 16 --ubatch 600");
    size_t once = at(nth(at(root, "phases"), 2), "operations")->count;
    vs_text_release(&text);
    write_plan(TOY_GENERATE "--prompt 600 --gen 5 --depth 16 --ubatch 256");
    phases_are(NAMES, (const uint64_t[]){1, 1, 1, 1, 1}, 5);
    size_t passes = at(nth(at(root, "phases"), 2), "operations")->count;
    ck_assert_uint_eq(passes, 3 * once - 2 * 2); /* head and sampling stand once */
}
END_TEST

START_TEST(one_token_is_one_step) {
    write_plan(TOY_GENERATE "--prompt 8 --gen 1");
    ck_assert_uint_eq(at(root, "phases")->count, 2 + 1 + 1);
    vs_text_release(&text);
    write_plan(TOY_GENERATE "--prompt 8 --gen 0");
    ck_assert_uint_eq(at(root, "phases")->count, 2 + 1);
}
END_TEST

static void words_are_known(const struct vs_json *op, size_t place_of_op) {
    ck_assert_int_eq(at(op, "kind")->kind, VS_JSON_STRING);
    ck_assert_int_eq(at(op, "lane")->kind, VS_JSON_STRING);
    ck_assert_int_eq(at(op, "what")->kind, VS_JSON_STRING);
    for (const struct vs_json *a = at(op, "after")->child; a; a = a->next)
        ck_assert_uint_lt(a->integer, place_of_op);
    for (const struct vs_json *a = at(op, "memory")->child; a; a = a->next) {
        ck_assert_int_eq(at(a, "verb")->kind, VS_JSON_STRING);
        ck_assert_uint_lt(at(a, "buffer")->integer, at(root, "buffers")->count);
    }
}

/* Each kind, lane, home and verb that a plan uses has its word; nothing waits for what comes later.
 */
START_TEST(no_word_is_missing) {
    static const char *const CASES[] = {
        TOY_GENERATE "--prompt 32 --gen 2 --offload stream",
        TOY_GENERATE "--prompt 32 --gen 2 --gpu-layers 2",
        TOY "--task train --method qlora --weights nf4 --optim paged-adamw8bit --seq 64",
        TOY "--task train --method full --precision mixed-bf16 --seq 64"};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        write_plan(CASES[i]);
        for (const struct vs_json *p = at(root, "phases")->child; p; p = p->next) {
            size_t n = 0;
            for (const struct vs_json *op = at(p, "operations")->child; op; op = op->next)
                words_are_known(op, n++);
        }
        for (const struct vs_json *b = at(root, "buffers")->child; b; b = b->next)
            ck_assert(at(b, "home")->kind == VS_JSON_STRING &&
                      at(b, "tag")->kind == VS_JSON_STRING);
        vs_text_release(&text);
    }
}
END_TEST

static void step_is_found(const char *words) {
    struct clock k;
    const struct vs_outcome *o = sim_run(words);
    write_plan(words);
    clock_begin(&k);
    const struct vs_json *micro = nth(at(root, "phases"), 1), *update = micro->next;
    double seconds = at(micro, "count")->number * replay_time(&k, micro) + replay_time(&k, update);
    ck_assert_near(seconds, o->metrics[VS_METRIC_STEP_TIME_S], 1e-7);
    vs_des_free(k.des);
    vs_text_release(&text);
}

START_TEST(replay_finds_the_time) {
    step_is_found(TOY_TRAIN "--method lora --seq 128 --accum 3");
    step_is_found("--hw toy --model toy --engine hf --task train --method qlora --weights nf4 "
                  "--seq 64 --ckpt full");
}
END_TEST

static struct sums sums;

START_TEST(replay_finds_the_peak) {
    const char *words = TOY_TRAIN "--method full --precision mixed-bf16 --seq 128 --accum 2";
    const struct vs_outcome *o = sim_run(words);
    write_plan(words);
    sums_begin(&sums);
    const struct vs_json *load = at(root, "phases")->child, *micro = load->next;
    replay_memory(&sums, load);
    for (int step = 0; step < 2; step++) {
        for (uint64_t i = 0; i < at(micro, "count")->integer; i++)
            replay_memory(&sums, micro);
        replay_memory(&sums, micro->next);
    }
    ck_assert_uint_eq(sums.peak, o->pools[0].peak_bytes);
}
END_TEST

START_TEST(replay_finds_the_peak_of_generation) {
    const char *words = TOY_GENERATE "--prompt 300 --gen 9 --ubatch 128 --batch 3";
    const struct vs_outcome *o = sim_run(words);
    write_plan(words);
    sums_begin(&sums);
    for (const struct vs_json *p = at(root, "phases")->child; p; p = p->next)
        replay_memory(&sums, p);
    ck_assert_uint_eq(sums.peak, o->pools[0].peak_bytes);
}
END_TEST

/* A plan says where it would run out, so one that does not fit is written as well; bad words are
 * not. */
START_TEST(what_does_not_fit_and_what_is_wrong) {
    struct vs_request request;
    struct vs_err err = {0};
    write_plan("--hw toy --model llama-3-8b --engine ideal --task generate --weights fp16");
    ck_assert_uint_eq(at(root, "tensors")->count, 291);
    vs_text_release(&text);
    ck_assert(sim_request("--hw toy --model nosuch --engine ideal --task train", &request, &err));
    ck_assert(!vs_run_plan_json(&request, &text, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("plan_json");
    TCase *tests = tcase_create("plan");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, what_stands_where);
    tcase_add_test(tests, phases_of_training);
    tcase_add_test(tests, phases_of_generation);
    tcase_add_test(tests, one_token_is_one_step);
    tcase_add_test(tests, no_word_is_missing);
    tcase_add_test(tests, replay_finds_the_time);
    tcase_add_test(tests, replay_finds_the_peak);
    tcase_add_test(tests, replay_finds_the_peak_of_generation);
    tcase_add_test(tests, what_does_not_fit_and_what_is_wrong);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
