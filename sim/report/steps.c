/* What a replayed step trace adds to a point. */
#include "report/steps.h"

#include <stdio.h>

#include "report/report.h"
#include "report/table.h"

/* ---- JSON ---- */

static void memory_json(struct vs_json_writer *w, const char *key,
                        const struct vs_step_memory *memory) {
    vs_json_key(w, key);
    if (!memory) {
        vs_json_null(w);
        return;
    }
    vs_json_object(w);
    vs_json_member_string(w, "expandable-segments", memory->expandable);
    vs_json_member_boolean(w, "fits", memory->fits);
    vs_json_member_u64(w, "steps", memory->steps);
    if (!memory->fits) {
        vs_json_member_u64(w, "oom_step", memory->oom_step);
        vs_json_member_u64(w, "oom_micro_step", memory->oom_micro_step);
    }
    vs_json_member_u64(w, "peak_allocated_bytes", memory->peak_allocated_bytes);
    vs_json_member_u64(w, "peak_reserved_bytes", memory->peak_reserved_bytes);
    vs_json_member_u64(w, "fragmentation_bytes",
                       memory->peak_reserved_bytes - memory->peak_allocated_bytes);
    vs_json_member_u64(w, "retries", memory->retries);
    vs_json_end(w, '}');
}

void vs_report_steps_json(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    const struct vs_step_replay *s = outcome->steps;
    vs_json_key(w, "steps");
    vs_json_object(w);
    vs_json_member_string(w, "form", s->form);
    vs_json_member_boolean(w, "packed", s->packed);
    vs_json_member_u64(w, "asked", s->trace_steps);
    vs_json_member_u64(w, "done", s->step_count);
    vs_json_member_u64(w, "skipped", s->skipped);
    vs_json_member_u64(w, "cut_samples", s->cut);
    vs_json_member_u64(w, "tokens", s->tokens);
    vs_json_member_u64(w, "computed_tokens", s->computed_tokens);
    vs_json_member_number(w, "seconds", s->seconds);
    if (!outcome->fits) {
        vs_json_member_u64(w, "oom_step", s->oom_step);
        vs_json_member_u64(w, "oom_micro_step", s->oom_micro_step);
        vs_json_member_u64(w, "oom_sample", s->oom_sample);
        vs_json_member_u64(w, "oom_sample_tokens", s->oom_tokens);
    }
    memory_json(w, "allocator", &s->memory);
    memory_json(w, "allocator_otherwise", s->other);
    vs_json_end(w, '}');
}

/* ---- CSV: a row a step ---- */

void vs_report_steps_csv(struct vs_text *out, const struct vs_outcome *outcome) {
    const struct vs_step_replay *s = outcome->steps;
    char text[VS_UNIT_TEXT];
    vs_text_add(out, "step,samples,micro_steps,tokens,computed_tokens,longest,start_s,seconds,"
                     "tok_per_s,peak_allocated_bytes,reserved_bytes,peak_reserved_bytes,"
                     "largest_free_bytes,retries\n");
    for (size_t i = 0; i < s->step_count; i++) {
        const struct vs_step_outcome *step = &s->steps[i];
        vs_text_printf(out, "%llu,%llu,%llu,%llu,%llu,%llu", (unsigned long long)step->number,
                       (unsigned long long)step->samples, (unsigned long long)step->micro_steps,
                       (unsigned long long)step->tokens, (unsigned long long)step->computed_tokens,
                       (unsigned long long)step->longest);
        vs_text_printf(out, ",%s", vs_print_g9(text, step->start_s));
        vs_text_printf(out, ",%s", vs_print_g9(text, step->seconds));
        vs_text_printf(
            out, ",%s",
            vs_print_g9(text, step->seconds > 0 ? (double)step->tokens / step->seconds : 0));
        vs_text_printf(
            out, ",%llu,%llu,%llu,%llu,%llu\n", (unsigned long long)step->peak_allocated_bytes,
            (unsigned long long)step->reserved_bytes, (unsigned long long)step->peak_reserved_bytes,
            (unsigned long long)step->largest_free_bytes, (unsigned long long)step->retries);
    }
}

/* ---- table ---- */

void vs_report_steps_oom(struct vs_text *out, const struct vs_outcome *outcome) {
    const struct vs_step_replay *s = outcome->steps;
    if (vs_streq(outcome->oom->phase, "load"))
        return;
    vs_text_printf(out, "  step       %llu", (unsigned long long)s->oom_step);
    if (s->oom_micro_step > 0)
        vs_text_printf(out,
                       ", micro-step %llu: sample %llu of the step, %llu tokens, is its longest",
                       (unsigned long long)s->oom_micro_step, (unsigned long long)s->oom_sample,
                       (unsigned long long)s->oom_tokens);
    vs_text_add(out, "\n");
}

/* Shares of the steps that are shown: speed over time, and what the allocator holds. */
enum { SHOWN = 8 };

static void put_course(struct vs_text *out, const struct vs_step_replay *s, size_t width) {
    static const struct vs_table_column columns[] = {{"step", "", true, false},
                                                     {"tokens", "", true, false},
                                                     {"longest", "", true, false},
                                                     {"tok/s", "", true, false},
                                                     {"most allocated", "GiB", true, false},
                                                     {"most reserved", "GiB", true, false},
                                                     {"cache emptied", "times", true, false}};
    struct vs_table table;
    size_t last = SIZE_MAX;
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (size_t k = 0; k < SHOWN; k++) {
        size_t i = k * (s->step_count - 1) / (SHOWN - 1);
        const struct vs_step_outcome *step = &s->steps[i];
        char text[7][VS_UNIT_TEXT];
        if (i == last)
            continue;
        last = i;
        (void)snprintf(text[0], VS_UNIT_TEXT, "%llu", (unsigned long long)step->number);
        vs_print_tokens(text[1], step->tokens);
        vs_print_tokens(text[2], step->longest);
        vs_print_speed(text[3], step->seconds > 0 ? (double)step->tokens / step->seconds : 0);
        vs_report_gib(text[4], step->peak_allocated_bytes);
        vs_report_gib(text[5], step->peak_reserved_bytes);
        (void)snprintf(text[6], VS_UNIT_TEXT, "%llu", (unsigned long long)step->retries);
        const char *const cells[] = {text[0], text[1], text[2], text[3], text[4], text[5], text[6]};
        vs_table_add(&table, cells, NULL);
    }
    vs_table_print(&table, out, 2, width, false);
    vs_table_release(&table);
}

/* What the allocator came to. Where it ran out, the peak is what the failing micro-step wanted. */
static void put_memory(struct vs_text *out, const struct vs_step_memory *m, size_t width) {
    struct vs_text line = {0};
    char name[40], text[VS_UNIT_TEXT], other[VS_UNIT_TEXT], rest[VS_UNIT_TEXT];
    (void)snprintf(name, sizeof name, "  expandable segments %-3s  ", m->expandable);
    vs_text_printf(&line, "%s GiB reserved for %s allocated, %s of fragments",
                   vs_report_gib(text, m->peak_reserved_bytes),
                   vs_report_gib(other, m->peak_allocated_bytes),
                   vs_report_gib(rest, m->peak_reserved_bytes - m->peak_allocated_bytes));
    if (m->retries > 0)
        vs_text_printf(&line, "; cache emptied %llu time%s", (unsigned long long)m->retries,
                       m->retries == 1 ? "" : "s");
    if (!m->fits)
        vs_text_printf(&line, "; OOM in step %llu", (unsigned long long)m->oom_step);
    if (!m->fits && m->oom_micro_step > 0)
        vs_text_printf(&line, ", micro-step %llu", (unsigned long long)m->oom_micro_step);
    vs_put_wrapped(out, name, vs_text_str(&line), width);
    out->failed = out->failed || line.failed;
    vs_text_release(&line);
}

void vs_report_steps_table(struct vs_text *out, const struct vs_outcome *outcome, size_t width) {
    const struct vs_step_replay *s = outcome->steps;
    vs_text_printf(out, "  %s: %llu of %llu steps", s->form, (unsigned long long)s->step_count,
                   (unsigned long long)s->trace_steps);
    if (s->computed_tokens > 0)
        vs_text_printf(
            out, ", %llu tokens, %.1f %% of what is computed, %s", (unsigned long long)s->tokens,
            100 * (double)s->tokens / (double)s->computed_tokens, s->packed ? "packed" : "padded");
    if (s->cut > 0)
        vs_text_printf(out, "; %llu samples cut", (unsigned long long)s->cut);
    if (s->skipped > 0)
        vs_text_printf(out, "; %llu rows skipped", (unsigned long long)s->skipped);
    vs_text_add(out, "\n");
    if (s->step_count > 0)
        put_course(out, s, width);
    put_memory(out, &s->memory, width);
    if (s->other)
        put_memory(out, s->other, width);
}
