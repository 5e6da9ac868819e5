/* Chrome traces of real runs: every event is read, and the rules of the format are checked. */
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "report/report.h"
#include "sim_helpers.h"

struct slice {
    uint64_t process, thread;
    double from_us, to_us;
};
struct flow {
    uint64_t id;
    double at_us;
    bool ends;
};

static struct vs_text out;
static struct {
    VS_VEC(struct slice) slices;
    VS_VEC(struct flow) flows;
    size_t counters, names;
} seen;

static void setup(void) { memset(&seen, 0, sizeof seen); }

static void teardown(void) {
    vs_text_release(&out);
    vs_vec_release(&seen.slices);
    vs_vec_release(&seen.flows);
    sim_end();
}

static double number(const struct vs_json *event, const char *key) {
    const struct vs_json *value = vs_json_member(event, key);
    ck_assert_msg(value && value->kind == VS_JSON_NUMBER, "line %d: no %s", event->line, key);
    return value->number;
}

static uint64_t whole(const struct vs_json *event, const char *key) {
    const struct vs_json *value = vs_json_member(event, key);
    ck_assert_msg(value && value->is_integer, "line %d: no whole %s", event->line, key);
    return value->integer;
}

static const char *text(const struct vs_json *event, const char *key) {
    const struct vs_json *value = vs_json_member(event, key);
    ck_assert_msg(value && value->kind == VS_JSON_STRING, "line %d: no %s", event->line, key);
    return value->string;
}

static const struct slice *slice_around(uint64_t process, uint64_t thread, double at_us) {
    for (size_t i = 0; i < seen.slices.count; i++) {
        const struct slice *s = &seen.slices.at[i];
        if (s->process == process && s->thread == thread && s->from_us <= at_us &&
            at_us <= s->to_us)
            return s;
    }
    return NULL;
}

static void read_slice(const struct vs_json *event) {
    struct slice s = {whole(event, "pid"), whole(event, "tid"), number(event, "ts"), 0};
    s.to_us = s.from_us + number(event, "dur");
    ck_assert_double_ge(s.from_us, 0);
    ck_assert_double_ge(s.to_us, s.from_us);
    ck_assert(text(event, "name")[0] != '\0');
    ck_assert(vs_vec_push(&seen.slices, s));
}

static void read_flow(const struct vs_json *event, bool ends) {
    const struct flow f = {whole(event, "id"), number(event, "ts"), ends};
    const struct slice *s = slice_around(whole(event, "pid"), whole(event, "tid"), f.at_us);
    ck_assert_msg(s != NULL, "line %d: a flow outside of every slice", event->line);
    ck_assert(!ends || vs_streq(text(event, "bp"), "e"));
    ck_assert(vs_vec_push(&seen.flows, f));
}

static void read_counter(const struct vs_json *event) {
    const struct vs_json *args = vs_json_member(event, "args");
    ck_assert(args && args->count > 0);
    for (const struct vs_json *value = args->child; value; value = value->next)
        ck_assert(value->kind == VS_JSON_NUMBER && value->number >= 0);
    ck_assert_double_ge(number(event, "ts"), 0);
    seen.counters++;
}

static int by_place(const void *a, const void *b) {
    const struct slice *x = a, *y = b;
    if (x->process != y->process || x->thread != y->thread)
        return x->process != y->process ? (x->process < y->process ? -1 : 1)
                                        : (x->thread < y->thread ? -1 : 1);
    return x->from_us < y->from_us ? -1 : x->from_us > y->from_us;
}

/* Streams are first in, first out: on a thread no slice begins before the one before has ended. (A
 * thousandth of a nanosecond is what reading decimals costs.) */
static void check_slices(void) {
    qsort(seen.slices.at, seen.slices.count, sizeof *seen.slices.at, by_place);
    for (size_t i = 1; i < seen.slices.count; i++) {
        const struct slice *a = &seen.slices.at[i - 1], *b = &seen.slices.at[i];
        ck_assert(a->process != b->process || a->thread != b->thread ||
                  a->to_us <= b->from_us + 1e-6 * (1 + b->from_us * 1e-6));
    }
}

/* Each flow has a start and then an end, at the same time or later. */
static void check_flows(void) {
    ck_assert_uint_eq(seen.flows.count % 2, 0);
    for (size_t i = 0; i < seen.flows.count; i += 2) {
        const struct flow *from = &seen.flows.at[i], *to = from + 1;
        ck_assert(from->id == to->id && !from->ends && to->ends);
        ck_assert_double_le(from->at_us, to->at_us);
    }
}

/* Runs and reads: slices first, for flows bind to them. */
static void check(const char *words, size_t most_bytes) {
    const struct vs_run_options options = {.timeline = true};
    const struct vs_json *root;
    struct vs_err err;
    vs_report_timeline(&out, sim_outcome(words, &options));
    ck_assert(!out.failed);
    ck_assert_uint_lt(out.length, most_bytes);
    ck_assert_msg(vs_json_parse(&sim_arena, "trace", out.at, out.length, &root, &err), "%s",
                  err.text);
    const struct vs_json *events = vs_json_member(root, "traceEvents");
    for (const struct vs_json *e = events->child; e; e = e->next)
        if (vs_streq(text(e, "ph"), "X"))
            read_slice(e);
    for (const struct vs_json *e = events->child; e; e = e->next) {
        const char *type = text(e, "ph");
        ck_assert_msg(strlen(type) == 1 && strchr("XMCsf", type[0]), "line %d: %s", e->line, type);
        if (type[0] == 's' || type[0] == 'f')
            read_flow(e, type[0] == 'f');
        else if (type[0] == 'C')
            read_counter(e);
        seen.names += type[0] == 'M';
    }
    check_slices();
    check_flows();
}

/* Every layer of the model is fetched for forward and again for backward, and waited for. */
START_TEST(training_with_parameters_in_ram) {
    check("--hw rtx4090 --workload qlora70b --engine fsdp --optim adamw --offload-param cpu",
          20U << 20);
    ck_assert_uint_gt(seen.flows.count, 2 * 2 * 80);
    ck_assert_uint_gt(seen.counters, 1000);
    ck_assert_uint_gt(seen.names, 2 + 2 + 4); /* the run, gpu0, host; their streams */
}
END_TEST

START_TEST(generation_with_layers_on_the_cpu) {
    check("--hw rtx4090 --workload chat70b-q4 --offload cpu --gpu-layers auto", 20U << 20);
    ck_assert_uint_gt(seen.flows.count, 0);
}
END_TEST

START_TEST(several_devices) {
    check("--hw rtx3090x2 --model llama-3-8b --engine llamacpp --task generate --weights q4_k_m",
          20U << 20);
    ck_assert_uint_gt(seen.slices.count, 100);
}
END_TEST

/* The load, up to the tensor that found no room. */
START_TEST(where_it_runs_out) {
    check("--hw rtx4090 --workload qlora70b --engine hf", 20U << 20);
    ck_assert_uint_gt(seen.counters, 10);
}
END_TEST

/* A run of 20,000 requests has more steps than a viewer takes: short ones are joined, which is
 * said. Nothing is lost: the tokens of all steps are those that were asked for. */
START_TEST(server) {
    check("--hw h100 --model llama-3-8b --engine vllm --task serve --requests 20000 --rate 30 "
          "--prompt 512 --gen 128 --length-range 0.5 --ctx 2048",
          20U << 20);
    ck_assert(strstr(out.at, "sampled: steps of the server shorter than"));
    ck_assert(strstr(out.at, "{\"name\": \"server\"}"));
    ck_assert_uint_gt(seen.counters, 2 * 4000); /* the queue and the cache, at each step */
}
END_TEST

/* One request at a time: a prompt, then 15 steps of decoding, which are alike. */
START_TEST(steps_of_a_server) {
    check("--hw h100 --model llama-3-8b --engine vllm --task serve --requests 3 --concurrency 1 "
          "--prompt 64 --gen 16 --ctx 2048",
          20U << 20);
    ck_assert(!strstr(out.at, "sampled"));
    const char *decode = strstr(out.at, "\"name\": \"decode\"");
    ck_assert(decode &&
              strstr(decode, "{\"steps\": 15, \"prompt tokens\": 0, \"output tokens\": 15}"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("timeline");
    TCase *tests = tcase_create("timeline");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, training_with_parameters_in_ram);
    tcase_add_test(tests, generation_with_layers_on_the_cpu);
    tcase_add_test(tests, several_devices);
    tcase_add_test(tests, where_it_runs_out);
    tcase_add_test(tests, server);
    tcase_add_test(tests, steps_of_a_server);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
