#include "report/executed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "report/table.h"

static double median_of(const struct vs_executed_phase *phase) {
    double *sorted = phase->count > 0 ? malloc(phase->count * sizeof *sorted) : NULL;
    if (!sorted)
        return (double)NAN;
    memcpy(sorted, phase->seconds, phase->count * sizeof *sorted);
    double median = vs_quantile(sorted, phase->count, 0.5);
    free(sorted);
    return median;
}

/* Peak of the pools whose names begin so, as the run predicts it; 0 = there is none. */
static double predicted_peak(const struct vs_outcome *outcome, const char *pool) {
    for (size_t i = 0; i < outcome->pool_count; i++)
        if (vs_starts(outcome->pools[i].name, pool))
            return (double)outcome->pools[i].peak_bytes;
    return 0;
}

/* What was predicted of the memory that was measured: a device's where there is one. Where it ran
 * out its peak is of no run. */
static double memory_of(const struct vs_outcome *outcome, const char **pool, double *measured) {
    const struct vs_executed *e = outcome->executed;
    const bool device = outcome->device_count > 0;
    *pool = device ? "gpu0" : "host";
    *measured = e->oom_phase ? 0 : device ? e->device_peak_bytes : e->host_peak_bytes;
    return predicted_peak(outcome, *pool);
}

void vs_report_executed_json(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    const struct vs_executed *e = outcome->executed;
    const char *pool;
    double measured;
    vs_json_key(w, "executed");
    vs_json_object(w);
    vs_json_member_string(w, "device", e->device);
    vs_json_member_string(w, "date", e->date);
    vs_json_key(w, "phases");
    vs_json_array(w);
    for (size_t i = 0; i < e->phase_count; i++) {
        if (e->phases[i].once)
            continue;
        vs_json_object(w);
        vs_json_member_string(w, "phase", e->phases[i].name);
        vs_json_member_number(w, "predicted_s", e->phases[i].predicted_s);
        vs_json_member_number(w, "measured_s", median_of(&e->phases[i]));
        vs_json_member_u64(w, "repetitions", e->phases[i].count);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
    double predicted = memory_of(outcome, &pool, &measured);
    vs_json_member_string(w, "pool", pool);
    vs_json_member_number(w, "predicted_peak_bytes", predicted);
    vs_json_member_number(w, "measured_peak_bytes", measured > 0 ? measured : (double)NAN);
    vs_json_member_string(w, "oom_phase", e->oom_phase);
    vs_json_member_string(w, "oom_buffer", e->oom_buffer);
    vs_json_end(w, '}');
}

/* "+3.2 %" */
static void print_error(char text[VS_UNIT_TEXT], double predicted, double measured) {
    if (predicted > 0 && measured > 0)
        (void)snprintf(text, VS_UNIT_TEXT, "%+.1f %%", 100 * (predicted / measured - 1));
    else
        (void)snprintf(text, VS_UNIT_TEXT, "-");
}

/* The first and the last step of decoding stand for those between. */
static const char *suffix(const struct vs_executed *e, size_t i) {
    const char *name = e->phases[i].name;
    return i + 1 < e->phase_count && vs_streq(e->phases[i + 1].name, name) ? ", first"
           : i > 0 && vs_streq(e->phases[i - 1].name, name)                ? ", last"
                                                                           : "";
}

static void add_phase(struct vs_table *table, const struct vs_executed *e, size_t i) {
    const struct vs_executed_phase *phase = &e->phases[i];
    char predicted[VS_UNIT_TEXT] = "-", measured[VS_UNIT_TEXT] = "-", error[VS_UNIT_TEXT], name[60];
    const double median = median_of(phase);
    (void)snprintf(name, sizeof name, "%.40s%s", phase->name, suffix(e, i));
    if (isfinite(phase->predicted_s))
        (void)vs_print_seconds(predicted, phase->predicted_s);
    if (isfinite(median))
        (void)vs_print_seconds(measured, median);
    print_error(error, phase->predicted_s, median);
    const char *const cells[] = {name, predicted, measured, error};
    vs_table_add(table, cells, NULL);
}

static void add_memory(struct vs_table *table, const struct vs_outcome *outcome) {
    char predicted[VS_UNIT_TEXT], measured[VS_UNIT_TEXT] = "-", error[VS_UNIT_TEXT], name[40];
    const char *pool;
    double found, expected = memory_of(outcome, &pool, &found);
    (void)snprintf(name, sizeof name, "memory of %s", pool);
    (void)vs_print_bytes(predicted, (uint64_t)expected);
    if (found > 0)
        (void)vs_print_bytes(measured, (uint64_t)found);
    print_error(error, expected, found);
    const char *const cells[] = {name, predicted, measured, error};
    vs_table_add(table, cells, NULL);
}

static void fill(struct vs_table *table, const struct vs_outcome *outcome) {
    static const struct vs_table_column columns[] = {{"", "", false, false},
                                                     {"predicted", "", true, false},
                                                     {"measured", "", true, false},
                                                     {"error", "", true, false}};
    const struct vs_executed *e = outcome->executed;
    vs_table_init(table, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < e->phase_count; i++)
        if (!e->phases[i].once)
            add_phase(table, e, i);
    add_memory(table, outcome);
}

static void put_device(struct vs_text *out, const struct vs_executed *e) {
    vs_text_add(out, "\nexecuted on ");
    vs_put(out, e->device);
    if (e->oom_phase) {
        vs_text_add(out, ", where memory ran out: ");
        vs_put(out, e->oom_phase);
        vs_text_add(out, ", ");
        vs_put(out, e->oom_buffer);
    }
    vs_text_add(out, "\n");
}

void vs_report_executed_table(struct vs_text *out, const struct vs_outcome *outcome, size_t width,
                              bool color) {
    struct vs_table table;
    put_device(out, outcome->executed);
    fill(&table, outcome);
    vs_table_print(&table, out, 2, width, color);
    vs_table_release(&table);
}

void vs_report_executed_markdown(struct vs_text *out, const struct vs_outcome *outcome) {
    struct vs_table table;
    put_device(out, outcome->executed);
    vs_text_add(out, "\n");
    fill(&table, outcome);
    vs_table_markdown(&table, out);
    vs_table_release(&table);
}
