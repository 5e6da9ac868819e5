/* What a replayed allocator trace adds to a point: what was asked for, what the allocator made of
 * it, and what lay idle. */
#include "report/allocator.h"

#include <stdio.h>

#include "report/table.h"

static void device_json(struct vs_json_writer *w, const struct vs_allocator_outcome *d) {
    vs_json_key(w, d->pool);
    vs_json_object(w);
    vs_json_member_u64(w, "start_bytes", d->start_bytes);
    vs_json_member_u64(w, "peak_requested_bytes", d->peak_requested_bytes);
    vs_json_member_u64(w, "peak_above_start_bytes", d->peak_requested_bytes - d->start_bytes);
    vs_json_member_u64(w, "peak_allocated_bytes", d->peak_allocated_bytes);
    vs_json_member_u64(w, "peak_reserved_bytes", d->peak_reserved_bytes);
    if (d->recorded_reserved_bytes > 0)
        vs_json_member_u64(w, "recorded_reserved_bytes", d->recorded_reserved_bytes);
    vs_json_member_u64(w, "retries", d->retries);
    vs_json_member_u64(w, "fragmentation_bytes", d->idle_bytes);
    vs_json_member_u64(w, "fragmentation_at", d->idle_place);
    vs_json_member_u64(w, "fragmentation_request_bytes", d->idle_request_bytes);
    vs_json_member_u64(w, "fragmentation_largest_block_bytes", d->idle_largest_bytes);
    vs_json_member_u64(w, "end_requested_bytes", d->end_bytes);
    vs_json_member_u64(w, "end_reserved_bytes", d->end_reserved_bytes);
    vs_json_end(w, '}');
}

void vs_report_allocator_json(struct vs_json_writer *w, const struct vs_outcome *outcome) {
    const struct vs_memory_replay *a = outcome->allocator;
    vs_json_key(w, "allocator");
    vs_json_object(w);
    vs_json_member_string(w, "form", a->form);
    vs_json_member_string(w, "place_is", a->unit);
    vs_json_member_u64(w, "events", a->events);
    vs_json_member_u64(w, "blocks_before", a->before_blocks);
    vs_json_member_u64(w, "unknown_frees", a->unknown_frees);
    vs_json_member_u64(w, "lost_frees", a->lost_frees);
    vs_json_member_u64(w, "size_changes", a->size_changes);
    vs_json_member_u64(w, "skipped", a->skipped);
    vs_json_member_u64(w, "recorded_ooms", a->recorded_ooms);
    if (a->recorded_ooms > 0) {
        vs_json_member_u64(w, "recorded_oom_at", a->recorded_oom_place);
        vs_json_member_u64(w, "recorded_oom_bytes", a->recorded_oom_bytes);
    }
    if (!outcome->fits) {
        vs_json_member_u64(w, "oom_at", a->oom_place);
        vs_json_member_u64(w, "oom_reserved_free_bytes", a->oom_reserved_free_bytes);
        vs_json_member_u64(w, "oom_largest_free_block_bytes", a->oom_largest_free_bytes);
    }
    vs_json_key(w, "devices");
    vs_json_object(w);
    for (size_t i = 0; i < a->device_count; i++)
        device_json(w, &a->devices[i]);
    vs_json_end(w, '}');
    vs_json_end(w, '}');
}

void vs_report_allocator_oom(struct vs_text *out, const struct vs_outcome *outcome) {
    const struct vs_memory_replay *a = outcome->allocator;
    char text[VS_UNIT_TEXT], other[VS_UNIT_TEXT];
    vs_text_printf(out, "  cached     %s of no use to it, the largest free block %s\n",
                   vs_print_bytes(text, a->oom_reserved_free_bytes),
                   vs_print_bytes(other, a->oom_largest_free_bytes));
}

static void row(struct vs_table *table, const char *name, uint64_t bytes, const char *what) {
    char text[VS_UNIT_TEXT];
    const char *const cells[] = {name, vs_report_gib(text, bytes), "GiB", what};
    vs_table_add(table, cells, NULL);
}

static void put_device(struct vs_text *out, const struct vs_memory_replay *a,
                       const struct vs_allocator_outcome *d, size_t width) {
    static const struct vs_table_column columns[] = {{"", "", false, false},
                                                     {"", "", true, false},
                                                     {"", "", false, false},
                                                     {"", "", false, true}};
    struct vs_table table;
    char what[160], text[VS_UNIT_TEXT], largest[VS_UNIT_TEXT];
    vs_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    row(&table, "at the start", d->start_bytes, "asked for by blocks from before the recording");
    row(&table, "above the start", d->peak_requested_bytes - d->start_bytes,
        "most asked for at once");
    row(&table, "allocated", d->peak_allocated_bytes, "most held in blocks of the allocator");
    (void)snprintf(what, sizeof what, "most taken from the driver; cache emptied %llu time%s",
                   (unsigned long long)d->retries, d->retries == 1 ? "" : "s");
    row(&table, "reserved", d->peak_reserved_bytes, what);
    if (d->recorded_reserved_bytes > 0)
        row(&table, "recorded", d->recorded_reserved_bytes,
            "most that the recorded program's own allocator had taken");
    if (d->idle_place > 0)
        (void)snprintf(what, sizeof what,
                       "most that lay idle, largest block %s, when %s (%s %llu) took new memory",
                       vs_print_bytes(largest, d->idle_largest_bytes),
                       vs_print_bytes(text, d->idle_request_bytes), a->unit,
                       (unsigned long long)d->idle_place);
    row(&table, "fragments", d->idle_bytes,
        d->idle_place > 0 ? what : "nothing lay idle when new memory was taken");
    row(&table, "at the end", d->end_bytes, "still asked for");
    vs_table_print(&table, out, 4, width, false);
    vs_table_release(&table);
}

static void put_count(struct vs_text *out, uint64_t count, const char *what) {
    if (count > 0)
        vs_text_printf(out, ", %llu %s", (unsigned long long)count, what);
}

void vs_report_allocator_table(struct vs_text *out, const struct vs_outcome *outcome,
                               size_t width) {
    const struct vs_memory_replay *a = outcome->allocator;
    vs_text_printf(out, "  %llu requests and frees", (unsigned long long)a->events);
    put_count(out, a->before_blocks, "blocks from before the recording");
    put_count(out, a->unknown_frees, "of them freed in it");
    put_count(out, a->lost_frees, "frees not recorded");
    put_count(out, a->size_changes, "frees of another size");
    put_count(out, a->skipped, "rows skipped");
    put_count(out, a->recorded_ooms, "recorded failures");
    vs_text_add(out, "\n");
    for (size_t i = 0; i < a->device_count; i++) {
        vs_text_printf(out, "  %s\n", a->devices[i].pool);
        put_device(out, a, &a->devices[i], width);
    }
}
