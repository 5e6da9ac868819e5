/* The executor of plans (kernels/exec), with the processor in place of a device: what a plan says
 * of order and of memory is what happens; what is no plan is refused in one line. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "exec/device.h"
#include "exec/execute.h"
#include "exec/plan.h"
#include "unit/sim_helpers.h"

static char path[] = "/tmp/vramsim-test-XXXXXX";
static struct plan plan;
static struct executed executed;
static char line[LINE_SIZE];

static void begin(void) {
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
    line[0] = '\0';
}

static void end(void) {
    plan_release(&plan);
    executed_release(&executed);
    (void)unlink(path);
    sim_end();
}

static void write_text(const char *text, size_t length) {
    struct vs_err err = {0};
    ck_assert_msg(vs_file_write(path, text, length, &err), "%s", err.text);
}

static struct vs_text plan_text(const char *words) {
    struct vs_text text = {0};
    struct vs_request request;
    struct vs_err err = {0};
    ck_assert_msg(sim_request(words, &request, &err) && vs_run_plan_json(&request, &text, &err),
                  "%s: %s", words, err.text);
    return text;
}

static void read_plan(const char *words) {
    struct vs_text text = plan_text(words);
    write_text(vs_text_str(&text), text.length);
    vs_text_release(&text);
    ck_assert_msg(plan_read(path, &plan, line), "%s: %s", words, line);
}

static void carry_out(const char *words) {
    const struct execute_options options = {
        .rounds = 3, .warm_ups = 1, .spans = true, .threads = 2};
    read_plan(words);
    const char *why = device_open(0, &plan);
    ck_assert_msg(why == NULL, "%s", why);
    ck_assert_msg(execute(&plan, &options, &executed, line), "%s: %s", words, line);
    device_close();
    ck_assert_ptr_null(executed.oom_phase);
}

/* ---- order ---- */

static const struct span *span_of(size_t phase, uint32_t operation) {
    for (size_t i = 0; i < executed.span_count; i++)
        if (executed.spans[i].phase == phase && executed.spans[i].operation == operation)
            return &executed.spans[i];
    return NULL;
}

/* A lane runs one operation at a time, in the order of issue, and each begins when what it waits
 * for has ended. */
static void order_is_kept(size_t phase) {
    const struct span *last[LANE_COUNT] = {NULL};
    const struct phase *p = &plan.phases[phase];
    for (uint32_t i = 0; i < p->operation_count; i++) {
        const struct operation *op = &p->operations[i];
        const struct span *s = span_of(phase, i);
        if (!s)
            continue;
        ck_assert_double_ge(s->end_s, s->start_s);
        if (last[op->lane])
            ck_assert_double_ge(s->start_s, last[op->lane]->end_s);
        last[op->lane] = s;
        for (size_t k = 0; k < op->after_count; k++) {
            const struct span *before = span_of(phase, op->after[k]);
            ck_assert_msg(!before || s->start_s >= before->end_s, "%s %u began before %u ended",
                          p->name, i, op->after[k]);
        }
    }
}

/* Work that takes time on a lane of its own has a span. */
static size_t spans_expected(const struct phase *p) {
    size_t count = 0;
    for (size_t i = 0; i < p->operation_count; i++) {
        const struct operation *op = &p->operations[i];
        count += op->work != WORK_NOTHING && op->work != WORK_SYNC && op->lane != LANE_ISSUE &&
                 op->lane != LANE_STORAGE;
    }
    return count;
}

static void all_was_done(void) {
    size_t expected = 0;
    for (size_t i = 0; i < plan.phase_count; i++) {
        const double *seconds = executed.seconds + i * executed.rounds;
        if (plan.phases[i].once) {
            ck_assert_double_ge(seconds[0], 0);
            continue;
        }
        for (unsigned round = 0; round < executed.rounds; round++)
            ck_assert_double_ge(seconds[round], 0);
        expected += spans_expected(&plan.phases[i]);
        order_is_kept(i);
    }
    ck_assert_uint_eq(executed.span_count, expected);
}

/* ---- tests ---- */

static double device_peak(const char *words) {
    const struct vs_outcome *o = sim_memory(words);
    for (size_t i = 0; i < o->pool_count; i++)
        if (vs_streq(o->pools[i].name, "gpu0"))
            return (double)o->pools[i].peak_bytes;
    return 0;
}

/* An engine that wastes nothing has at the peak what the processor in its place has taken. */
START_TEST(decodes) {
    const char *words = TOY_GENERATE "--prompt 24 --gen 4";
    carry_out(words);
    all_was_done();
    ck_assert_double_eq((double)(executed.device_peak - executed.device_own), device_peak(words));
}
END_TEST

START_TEST(streams_layers) {
    const char *words = TOY_GENERATE "--prompt 24 --gen 4 --offload stream";
    carry_out(words);
    all_was_done();
    ck_assert_double_eq((double)(executed.device_peak - executed.device_own), device_peak(words));
    size_t copies = 0;
    for (size_t i = 0; i < executed.span_count; i++)
        copies +=
            plan.phases[executed.spans[i].phase].operations[executed.spans[i].operation].lane ==
            LANE_TO_DEVICE;
    ck_assert_uint_ge(copies, 3 * 4); /* each layer of each pass */
}
END_TEST

START_TEST(computes_on_the_processor) {
    carry_out(TOY_GENERATE "--prompt 24 --gen 4 --gpu-layers 2");
    all_was_done();
}
END_TEST

START_TEST(trains) {
    const char *words = TOY_TRAIN "--method full --precision mixed-bf16 --seq 128 --ckpt full "
                                  "--accum 2";
    carry_out(words);
    all_was_done();
    ck_assert_double_eq((double)(executed.device_peak - executed.device_own), device_peak(words));
}
END_TEST

START_TEST(trains_with_the_optimizer_on_the_host) {
    carry_out("--hw toy --model toy --engine deepspeed --task train --method full --seq 128 "
              "--ckpt full --zero 2 --offload-optim cpu");
    all_was_done();
}
END_TEST

/* A buffer that nobody can have ends the execution, and says where. */
START_TEST(runs_out) {
    struct vs_text text = plan_text(TOY_GENERATE "--prompt 8 --gen 1");
    struct vs_text grown = {0};
    char *bytes = strstr(text.at, "\"buffers\"");
    ck_assert_ptr_nonnull(bytes);
    bytes = strstr(bytes, "\"bytes\": ");
    ck_assert_ptr_nonnull(bytes);
    bytes += strlen("\"bytes\": ");
    vs_text_addn(&grown, text.at, (size_t)(bytes - text.at));
    vs_text_add(&grown, "1e17");
    vs_text_add(&grown, bytes + strspn(bytes, "0123456789"));
    write_text(grown.at, grown.length);
    vs_text_release(&text);
    vs_text_release(&grown);
    ck_assert_msg(plan_read(path, &plan, line), "%s", line);
    ck_assert_ptr_null(device_open(0, &plan));
    ck_assert(
        execute(&plan, &(struct execute_options){.rounds = 1, .threads = 1}, &executed, line));
    device_close();
    ck_assert_str_eq(executed.oom_phase, "load");
    ck_assert_str_eq(executed.oom_buffer, plan.buffers[0].what);
}
END_TEST

static void refused(const char *text, const char *message) {
    write_text(text, strlen(text));
    ck_assert_msg(!plan_read(path, &plan, line), "took %s", text);
    ck_assert_msg(strstr(line, message) != NULL, "said '%s', expected '%s'", line, message);
    ck_assert_ptr_null(strchr(line, '\n'));
    plan_release(&plan);
}

#define HEAD "{\"schema\": \"vramsim-plan/1\", \"case\": {\"task\": \"train\"}, "
#define BUFFER(home)                                                                               \
    "{\"what\": \"w\", \"home\": \"" home                                                          \
    "\", \"tag\": \"weights\", \"bytes\": 8, \"raw\": false, \"managed\": false}"
#define OPERATION(kind, lane, after)                                                               \
    "{\"kind\": \"" kind "\", \"what\": \"x\", \"lane\": \"" lane                                  \
    "\", \"flops\": 1, \"bytes\": 1, \"kernels\": 1, \"launches\": 1, \"cost_s\": 0, "             \
    "\"weight_bits\": 16, \"fp32\": false, \"pinned\": false, \"fp8\": false, \"fp4\": false, "    \
    "\"needs\": {\"x\": 1}, \"latency_s\": 0, \"after\": " after ", \"memory\": []}"
#define PHASES(operations)                                                                         \
    "\"phases\": [{\"name\": \"p\", \"count\": 1, \"tokens\": 1, \"once\": false, "                \
    "\"operations\": [" operations "], \"memory_at_end\": []}]}"

START_TEST(refuses) {
    refused("", "no JSON document");
    refused("{\"schema\": \"vramsim-samples/1\"}", "found 'vramsim-samples/1'");
    refused(HEAD "\"buffers\": [" BUFFER("gpu1") "]}", "lies on gpu1");
    refused(HEAD "\"buffers\": [], " PHASES(OPERATION("gemm", "gpu1 compute", "[]")),
            "phases[0].operations[0]: lane 'gpu1 compute'");
    refused(HEAD "\"buffers\": [], " PHASES(OPERATION("gather", "gpu0 compute", "[]")),
            "gather can't be executed");
    refused(HEAD "\"buffers\": [], " PHASES(OPERATION("gemm", "gpu0 compute", "[0]")),
            "expected earlier operations");
    refused(HEAD "\"buffers\": [], " PHASES(OPERATION("gemm", "gpu0 compute", "[-1]")),
            "expected earlier operations");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("execute");
    TCase *tests = tcase_create("plan");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, decodes);
    tcase_add_test(tests, streams_layers);
    tcase_add_test(tests, computes_on_the_processor);
    tcase_add_test(tests, trains);
    tcase_add_test(tests, trains_with_the_optimizer_on_the_host);
    tcase_add_test(tests, runs_out);
    tcase_add_test(tests, refuses);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
