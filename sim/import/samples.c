#include "import/samples.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "import/tool.h"

#define NUMBER_MOST 1e18
#define BLANKS " \t\r\n"
enum { SAMPLES_MOST = 100000, FILE_MOST = 64 << 20 };

static bool read_gpu(struct vs_json_reader *machine, struct vs_samples_gpu *gpu,
                     struct vs_err *err) {
    struct vs_json_reader r;
    bool present;
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"count", &gpu->count},
                   {"memory_bytes", &gpu->memory_bytes},
                   {"free_bytes", &gpu->free_bytes},
                   {"driver", &gpu->driver},
                   {"runtime", &gpu->runtime},
                   {"compute_capability", &gpu->compute_capability},
                   {"sms", &gpu->sms},
                   {"clock_hz", &gpu->clock_hz},
                   {"l2_bytes", &gpu->l2_bytes},
                   {"temperature_c", &gpu->before.temperature_c},
                   {"clock_now_hz", &gpu->before.clock_hz},
                   {"power_w", &gpu->before.power_w},
                   {"temperature_end_c", &gpu->after.temperature_c},
                   {"clock_end_hz", &gpu->after.clock_hz},
                   {"power_end_w", &gpu->after.power_w}};
    if (!vs_json_open_member(machine, "gpu", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!vs_json_get_number(&r, numbers[i].key, false, 0, NUMBER_MOST, numbers[i].out, err))
            return false;
    return vs_json_get_string(&r, "name", true, &gpu->name, err) && vs_json_close(&r, err);
}

static bool read_machine(struct vs_json_reader *root, struct vs_samples *s, struct vs_err *err) {
    struct vs_json_reader r;
    bool present;
    const char *system = NULL, *release = NULL;
    double threads = 0;
    return vs_json_open_member(root, "machine", true, &r, &present, err) &&
           vs_json_get_string(&r, "processor", true, &s->processor, err) &&
           vs_json_get_string(&r, "system", false, &system, err) &&
           vs_json_get_string(&r, "release", false, &release, err) &&
           vs_json_get_number(&r, "cores", true, 1, 65536, &s->cores, err) &&
           vs_json_get_number(&r, "sockets", true, 1, 1024, &s->sockets, err) &&
           vs_json_get_number(&r, "threads", false, 1, 65536, &threads, err) &&
           vs_json_get_number(&r, "ram_bytes", true, 1, NUMBER_MOST, &s->ram_bytes, err) &&
           vs_json_get_number(&r, "available_bytes", true, 0, s->ram_bytes, &s->available_bytes,
                              err) &&
           vs_json_get_number(&r, "storage_bytes", false, 0, NUMBER_MOST, &s->storage_bytes, err) &&
           read_gpu(&r, &s->gpu, err) && vs_json_close(&r, err);
}

static bool read_seconds(struct vs_arena *arena, struct vs_json_reader *r, struct vs_sample *s,
                         struct vs_err *err) {
    const struct vs_json *list = NULL;
    if (!vs_json_get_array(r, "seconds", true, &list, err))
        return false;
    if (list->count == 0)
        return vs_json_fail(r, list, err, "found no repetition, expected at least one");
    s->seconds = VS_NEW_ARRAY(arena, double, list->count);
    if (!s->seconds)
        return vs_err_nomem(err);
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (node->kind != VS_JSON_NUMBER || !(node->number > 0))
            return vs_json_fail(r, node, err, "expected seconds above 0");
        s->seconds[s->count++] = node->number;
    }
    return true;
}

static bool read_sample(struct vs_arena *arena, const struct vs_samples *all, size_t index,
                        const struct vs_json *node, struct vs_sample *s, struct vs_err *err) {
    struct vs_json_reader r;
    const struct {
        const char *key;
        double *out;
    } numbers[] = {{"threads", &s->threads},
                   {"bytes", &s->bytes},
                   {"block_bytes", &s->block_bytes},
                   {"depth", &s->depth},
                   {"m", &s->m},
                   {"n", &s->n},
                   {"k", &s->k},
                   {"devices", &s->devices}};
    const char *path = vs_arena_printf(arena, "$.samples[%zu]", index);
    if (!path)
        return vs_err_nomem(err);
    if (!vs_json_open(&r, all->file, path, node, err) ||
        !vs_json_get_string(&r, "probe", true, &s->probe, err) ||
        !vs_json_get_string(&r, "skipped", false, &s->skipped, err) ||
        !vs_json_get_string(&r, "variant", false, &s->variant, err))
        return false;
    if (s->skipped)
        return vs_json_close(&r, err);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!vs_json_get_number(&r, numbers[i].key, false, 0, NUMBER_MOST, numbers[i].out, err))
            return false;
    return vs_json_get_number(&r, "work", true, 1, NUMBER_MOST, &s->work, err) &&
           vs_json_get_string(&r, "unit", true, &s->unit, err) && read_seconds(arena, &r, s, err) &&
           vs_json_close(&r, err);
}

/* A document of the probes. */
static bool read_own(struct vs_arena *arena, const char *path, const struct vs_json *root,
                     struct vs_samples *samples, struct vs_err *err) {
    const struct vs_json *list = NULL;
    struct vs_json_reader r;
    const char *schema = NULL;
    struct vs_samples s = {.file = path};
    if (!vs_json_open(&r, path, "$", root, err) ||
        !vs_json_get_string(&r, "schema", true, &schema, err))
        return false;
    if (!vs_streq(schema, "vramsim-samples/1"))
        return vs_json_fail(&r, vs_json_member(root, "schema"), err,
                            "found schema '%.60s', expected 'vramsim-samples/1'", schema);
    if (!vs_json_get_string(&r, "program", true, &s.program, err) ||
        !vs_json_get_string(&r, "date", true, &s.date, err) || !read_machine(&r, &s, err) ||
        !vs_json_get_array(&r, "samples", true, &list, err) || !vs_json_close(&r, err))
        return false;
    if (list->count > SAMPLES_MOST)
        return vs_json_fail(&r, list, err, "found %zu samples, expected at most %d", list->count,
                            SAMPLES_MOST);
    s.at = VS_NEW_ARRAY(arena, struct vs_sample, list->count + 1);
    if (!s.at)
        return vs_err_nomem(err);
    for (const struct vs_json *node = list->child; node; node = node->next) {
        if (!read_sample(arena, &s, s.count, node, &s.at[s.count], err))
            return false;
        s.count++;
    }
    *samples = s;
    return true;
}

static bool unknown_content(const char *path, struct vs_err *err) {
    struct vs_text known = {0};
    for (size_t i = 0; vs_tool_readers[i]; i++)
        vs_text_printf(&known, "%s%s", i > 0 ? ", " : "", vs_tool_readers[i]->help);
    (void)vs_err_at(err, path, 1, 1,
                    "found no samples, expected those of vramsim-probe, or what one of these "
                    "prints: %s",
                    vs_text_str(&known));
    vs_text_release(&known);
    return false;
}

bool vs_samples_over(struct vs_arena *arena, const char *path, const char *text, size_t length,
                     struct vs_samples *samples, struct vs_err *err) {
    struct vs_tool_input in = {.arena = arena, .path = path, .text = text};
    struct vs_err no_json = {0};
    char first = text[strspn(text, BLANKS)];
    /* Lines of logs begin with brackets too. */
    if ((first == '{' || first == '[') &&
        !vs_json_parse(arena, path, text, length, &in.root, &no_json))
        in.root = NULL;
    if (in.root && in.root->kind == VS_JSON_OBJECT && vs_json_member(in.root, "schema"))
        return read_own(arena, path, in.root, samples, err);
    for (size_t i = 0; vs_tool_readers[i]; i++) {
        struct vs_samples s = {.file = path, .date = "(no date)"};
        if (!vs_tool_readers[i]->matches(&in))
            continue;
        if (!vs_tool_readers[i]->read(&in, &s, err))
            return false;
        *samples = s;
        return true;
    }
    if (!no_json.text[0])
        return unknown_content(path, err);
    *err = no_json;
    return false;
}

bool vs_samples_read(struct vs_arena *arena, const char *path, struct vs_samples *samples,
                     struct vs_err *err) {
    char *text;
    size_t length;
    return vs_file_read(arena, path, FILE_MOST, &text, &length, err) &&
           vs_samples_over(arena, path, text, length, samples, err);
}

/* What one file says of the GPU beside the other. vramsim's own probes, which count
 * multiprocessors, go before tools. */
static void join_gpu(struct vs_samples_gpu *into, const struct vs_samples_gpu *more) {
    struct vs_samples_gpu first = *into, second = *more;
    if (!(first.sms > 0) && second.sms > 0) {
        first = *more;
        second = *into;
    }
    *into = first;
    if (!into->name)
        into->name = second.name;
    into->count = first.count > 0 ? first.count : second.count;
    into->memory_bytes = first.memory_bytes > 0 ? first.memory_bytes : second.memory_bytes;
    into->context_bytes = first.context_bytes > 0 ? first.context_bytes : second.context_bytes;
}

bool vs_samples_join(struct vs_arena *arena, struct vs_samples *into, const struct vs_samples *more,
                     struct vs_err *err) {
    struct vs_samples all = *into;
    all.count = into->count + more->count;
    all.at = VS_NEW_ARRAY(arena, struct vs_sample, all.count + 1);
    if (!vs_streq(into->program, more->program))
        all.program = vs_arena_printf(arena, "%s, %s", into->program, more->program);
    if (!all.at || !all.program)
        return vs_err_nomem(err);
    for (size_t i = 0; i < all.count; i++)
        all.at[i] = i < into->count ? into->at[i] : more->at[i - into->count];
    if (!all.processor) {
        all.processor = more->processor;
        all.cores = more->cores;
        all.sockets = more->sockets;
        all.ram_bytes = more->ram_bytes;
        all.available_bytes = more->available_bytes;
    }
    if (!(all.storage_bytes > 0))
        all.storage_bytes = more->storage_bytes;
    join_gpu(&all.gpu, &more->gpu);
    *into = all;
    return true;
}

const char *vs_samples_skipped(const struct vs_samples *samples, const char *probe) {
    const char *reason = "not run";
    for (size_t i = 0; i < samples->count; i++) {
        const struct vs_sample *s = &samples->at[i];
        if (!vs_streq(s->probe, probe))
            continue;
        if (!s->skipped)
            return NULL;
        reason = s->skipped;
    }
    return reason;
}
