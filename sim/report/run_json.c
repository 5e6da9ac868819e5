#include <math.h>

#include "report/allocator.h"
#include "report/common.h"
#include "report/executed.h"
#include "report/report.h"
#include "report/steps.h"

/* A capacity; no ceiling is null. */
static void member_bytes(struct vs_json_writer *w, const char *key, uint64_t bytes) {
    vs_json_key(w, key);
    if (bytes == UINT64_MAX)
        vs_json_null(w);
    else
        vs_json_u64(w, bytes);
}

static void member_tags(struct vs_json_writer *w, const struct vs_tag_bytes *tags, size_t count) {
    vs_json_key(w, "by_tag");
    vs_json_object(w);
    for (size_t i = 0; i < count; i++)
        member_bytes(w, tags[i].tag, tags[i].bytes);
    vs_json_end(w, '}');
}

static void member_strings(struct vs_json_writer *w, const char *key, const char *const *texts,
                           size_t count) {
    vs_json_key(w, key);
    vs_json_array(w);
    for (size_t i = 0; i < count; i++)
        vs_json_string(w, texts[i]);
    vs_json_end(w, ']');
}

void vs_report_oom_json(struct vs_json_writer *w, const struct vs_oom_outcome *oom) {
    if (!oom) {
        vs_json_null(w);
        return;
    }
    vs_json_object(w);
    vs_json_member_string(w, "pool", oom->pool);
    vs_json_member_string(w, "phase", oom->phase);
    vs_json_member_number(w, "at_s", oom->at_s);
    member_bytes(w, "requested_bytes", oom->requested_bytes);
    member_bytes(w, "in_use_bytes", oom->in_use_bytes);
    member_bytes(w, "capacity_bytes", oom->capacity_bytes);
    member_bytes(w, "short_bytes", oom->short_bytes);
    member_bytes(w, "needed_bytes", oom->needed_bytes);
    vs_json_member_string(w, "operation", oom->operation);
    vs_json_member_string(w, "tensor", oom->tensor);
    member_tags(w, oom->by_tag, oom->by_tag_count);
    vs_json_end(w, '}');
}

/* A metric applies when it has a value, or is a speed that the run would have had. */
static bool applies(const struct vs_outcome *outcome, enum vs_metric metric) {
    return isfinite(outcome->metrics[metric]) ||
           (!outcome->fits && vs_report_is_speed(metric, outcome->task));
}

static void member_metrics(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_key(w, "metrics");
    vs_json_object(w);
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        const enum vs_metric metric = (enum vs_metric)i;
        if (!applies(outcome, metric))
            continue;
        vs_json_key(w, vs_metric_info(metric)->name);
        if (!outcome->fits && vs_report_is_speed(metric, outcome->task))
            vs_json_null(w);
        else
            vs_json_number(w, outcome->metrics[metric]);
    }
    vs_json_end(w, '}');
}

static void member_intervals(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_key(w, "interval80");
    vs_json_object(w);
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        if (!applies(outcome, (enum vs_metric)i))
            continue;
        vs_json_key(w, vs_metric_info((enum vs_metric)i)->name);
        if (!isfinite(outcome->interval_low[i]) || !isfinite(outcome->interval_high[i])) {
            vs_json_null(w);
            continue;
        }
        vs_json_array(w);
        vs_json_number(w, outcome->interval_low[i]);
        vs_json_number(w, outcome->interval_high[i]);
        vs_json_end(w, ']');
    }
    vs_json_end(w, '}');
}

static void member_memory(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_key(w, "memory");
    vs_json_object(w);
    for (size_t i = 0; i < outcome->pool_count; i++) {
        const struct vs_pool_outcome *pool = &outcome->pools[i];
        vs_json_key(w, pool->name);
        vs_json_object(w);
        member_bytes(w, "capacity_bytes", pool->capacity_bytes);
        member_bytes(w, "peak_bytes", pool->peak_bytes);
        member_bytes(w, "peak_allocated_bytes", pool->peak_allocated_bytes);
        member_tags(w, pool->by_tag, pool->by_tag_count);
        vs_json_end(w, '}');
    }
    vs_json_end(w, '}');
}

static void member_kv_waste(struct vs_json_writer *w, const struct vs_kv_waste *kv) {
    const struct {
        const char *key;
        double bytes;
    } MEMBERS[] = {{"held_bytes", kv->held_bytes},
                   {"used_bytes", kv->used_bytes},
                   {"reservation_bytes", kv->reservation_bytes},
                   {"internal_bytes", kv->internal_bytes},
                   {"external_bytes", kv->external_bytes},
                   {"outgrown_bytes", kv->outgrown_bytes}};
    vs_json_key(w, "kv_waste");
    vs_json_object(w);
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
        vs_json_member_number(w, MEMBERS[i].key, MEMBERS[i].bytes);
    }
    vs_json_end(w, '}');
}

static void member_strategy(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_key(w, "strategy");
    vs_json_object(w);
    for (size_t i = 0; i < outcome->strategy_count; i++)
        vs_json_member_string(w, outcome->strategy[i].axis, outcome->strategy[i].word);
    vs_json_end(w, '}');
}

static void member_utilization(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_member_string(w, "bound_by", outcome->bound_by);
    vs_json_key(w, "utilization");
    vs_json_object(w);
    for (size_t i = 0; i < outcome->utilization_count; i++) {
        vs_json_member_number(w, outcome->utilization[i].resource,
                              outcome->utilization[i].fraction);
    }
    vs_json_end(w, '}');
}

/* Only where something was looked for: a sweep has its own answer. */
static void member_remedies(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    if (!outcome->remedies)
        return;
    vs_json_key(w, "fits_with");
    vs_json_array(w);
    for (size_t i = 0; i < outcome->remedy_count; i++)
        vs_json_string(w, outcome->remedies[i]);
    vs_json_end(w, ']');
}

/* What became of the requests that a server was sent. */
static void member_requests(struct vs_json_writer *w, const struct vs_request_counts *counts) {
    if (!counts)
        return;
    const struct {
        const char *key;
        uint64_t count;
    } members[] = {{"arrived", counts->arrived},       {"served", counts->served},
                   {"rejected", counts->rejected},     {"preempted", counts->preempted},
                   {"unanswered", counts->unanswered}, {"skipped", counts->skipped}};
    vs_json_key(w, "requests");
    vs_json_object(w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        vs_json_member_u64(w, members[i].key, members[i].count);
    }
    vs_json_end(w, '}');
}

void vs_report_outcome_json(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    vs_json_member_string(w, "hw", outcome->hw);
    vs_json_member_string(w, "machine", outcome->machine);
    vs_json_member_string(w, "model", outcome->model);
    vs_json_member_string(w, "engine", outcome->engine);
    vs_json_member_string(w, "engine_version", outcome->engine_version);
    vs_json_member_string(w, "task", outcome->task);
    member_strategy(w, outcome);
    vs_json_member_boolean(w, "fits", outcome->fits);
    vs_json_key(w, "oom");
    vs_report_oom_json(w, outcome->fits ? NULL : outcome->oom);
    member_remedies(w, outcome);
    member_metrics(w, outcome);
    member_requests(w, outcome->requests);
    member_memory(w, outcome);
    if (outcome->kv_waste)
        member_kv_waste(w, outcome->kv_waste);
    if (outcome->steps)
        vs_report_steps_json(w, outcome);
    if (outcome->allocator)
        vs_report_allocator_json(w, outcome);
    if (outcome->executed)
        vs_report_executed_json(w, outcome);
    member_utilization(w, outcome);
    member_intervals(w, outcome);
    vs_json_member_boolean(w, "extrapolating", outcome->extrapolating);
    vs_json_member_boolean(w, "bound", outcome->bound);
    member_strings(w, "notes", outcome->notes, outcome->note_count);
    member_strings(w, "assumed", outcome->assumed, outcome->assumed_count);
}

void vs_report_run_json(struct vs_text *out, const struct vs_outcome *outcome) {
    struct vs_json_writer w;
    vs_json_begin(&w, out);
    vs_json_object(&w);
    vs_report_outcome_json(&w, outcome);
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
}
