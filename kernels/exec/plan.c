#include "plan.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FILE_MOST = (size_t)1 << 30;
static const double NUMBER_MOST = 1e18; /* bytes, flops, places */
/* An executor works through these one by one, or makes shapes of them. */
static const double TOKENS_MOST = 1e9, KERNELS_MOST = 1e6, SECONDS_MOST = 1e4;

/* Where reading is, for messages: "plan.json: phases[2].operations[17]: ". */
struct reading {
    const char *path;
    char *line;
    int phase, operation; /* -1 = outside */
};

__attribute__((format(printf, 2, 3))) static bool fail(const struct reading *r, const char *format,
                                                       ...) {
    va_list arguments;
    char place[80] = "";
    if (r->phase >= 0 && r->operation >= 0)
        (void)snprintf(place, sizeof place, "phases[%d].operations[%d]: ", r->phase, r->operation);
    else if (r->phase >= 0)
        (void)snprintf(place, sizeof place, "phases[%d]: ", r->phase);
    int used = snprintf(r->line, LINE_SIZE, "%.200s: %s", r->path, place);
    va_start(arguments, format);
    if (used > 0 && used < LINE_SIZE)
        (void)vsnprintf(r->line + used, LINE_SIZE - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- members ---- */

static bool get_text(const struct reading *r, const cJSON *object, const char *key,
                     const char **out) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_GetStringValue(member);
    return *out || fail(r, "%s: expected a string", key);
}

static bool get_bounded(const struct reading *r, const cJSON *object, const char *key, double most,
                        double *out) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_IsNumber(member) ? member->valuedouble : -1;
    return (*out >= 0 && *out <= most) || fail(r, "%s: expected a number from 0 to %g", key, most);
}

static bool get_number(const struct reading *r, const cJSON *object, const char *key, double *out) {
    return get_bounded(r, object, key, NUMBER_MOST, out);
}

static bool get_bool(const struct reading *r, const cJSON *object, const char *key, bool *out) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    *out = cJSON_IsTrue(member);
    return cJSON_IsBool(member) || fail(r, "%s: expected true or false", key);
}

static const cJSON *get_array(const struct reading *r, const cJSON *object, const char *key) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsArray(member))
        return member;
    (void)fail(r, "%s: expected a list", key);
    return NULL;
}

/* A list with room for `size` bytes to an entry; one more, as calloc may return NULL for none. */
static void *room_for(const struct reading *r, const cJSON *array, size_t size, size_t *count) {
    *count = (size_t)cJSON_GetArraySize(array);
    void *room = calloc(*count + 1, size);
    if (room)
        return room;
    *count = 0;
    (void)fail(r, "out of memory");
    return NULL;
}

/* ---- buffers ---- */

static enum place place_of(const char *home, bool raw, bool managed) {
    if (strcmp(home, "gpu0") == 0)
        return managed ? PLACE_MANAGED : raw ? PLACE_RAW : PLACE_DEVICE;
    return strcmp(home, "host") == 0      ? PLACE_HOST
           : strcmp(home, "pinned") == 0  ? PLACE_PINNED
           : strcmp(home, "storage") == 0 ? PLACE_NONE
                                          : PLACE_COUNT;
}

static bool read_buffer(const struct reading *r, const cJSON *object, struct buffer *buffer) {
    const char *home, *tag;
    double bytes;
    bool raw, managed;
    if (!get_text(r, object, "what", &buffer->what) || !get_text(r, object, "home", &home) ||
        !get_text(r, object, "tag", &tag) || !get_number(r, object, "bytes", &bytes) ||
        !get_bool(r, object, "raw", &raw) || !get_bool(r, object, "managed", &managed))
        return false;
    buffer->place = place_of(home, raw, managed);
    if (buffer->place == PLACE_COUNT)
        return fail(r, "buffer %s lies on %s: this program executes plans of one device",
                    buffer->what, home);
    buffer->bytes = (size_t)bytes;
    buffer->context = strcmp(tag, "context") == 0;
    return true;
}

static bool read_buffers(const struct reading *r, const cJSON *root, struct plan *plan) {
    const cJSON *list = get_array(r, root, "buffers"), *item;
    if (!list)
        return false;
    plan->buffers = room_for(r, list, sizeof *plan->buffers, &plan->buffer_count);
    struct buffer *at = plan->buffers;
    if (!at)
        return false;
    cJSON_ArrayForEach(item, list) if (!read_buffer(r, item, at++)) return false;
    return true;
}

/* ---- memory ---- */

static bool read_action(const struct reading *r, const cJSON *object, const struct plan *plan,
                        struct action *action) {
    static const struct {
        const char *word;
        enum verb verb;
    } VERBS[] = {{"take", VERB_TAKE},
                 {"give", VERB_GIVE},
                 {"retire", VERB_GIVE},
                 {"ensure", VERB_ENSURE},
                 {"touch", VERB_TOUCH},
                 {"draw", VERB_TOUCH},
                 {"accumulate", VERB_ACCUMULATE}};
    const char *word;
    double buffer;
    if (!get_text(r, object, "verb", &word) || !get_number(r, object, "buffer", &buffer))
        return false;
    if (buffer >= (double)plan->buffer_count)
        return fail(r, "memory: buffer %.0f of %zu", buffer, plan->buffer_count);
    action->buffer = (uint32_t)buffer;
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
        if (strcmp(VERBS[i].word, word) == 0) {
            action->verb = VERBS[i].verb;
            return true;
        }
    return fail(r, "memory: unknown verb '%.40s'", word);
}

static bool read_actions(const struct reading *r, const cJSON *object, const char *key,
                         const struct plan *plan, const struct action **out, size_t *count) {
    const cJSON *list = get_array(r, object, key), *item;
    struct action *at = list ? room_for(r, list, sizeof *at, count) : NULL;
    *out = at;
    if (!at)
        return false;
    cJSON_ArrayForEach(item, list) if (!read_action(r, item, plan, at++)) return false;
    return true;
}

/* ---- operations ---- */

static enum work work_of(const char *kind) {
    static const struct {
        const char *kind;
        enum work work;
    } KINDS[] = {{"nothing", WORK_NOTHING},
                 {"gemm", WORK_GEMM},
                 {"gemv", WORK_READ},
                 {"kv_read", WORK_READ},
                 {"kv_read_naive", WORK_READ},
                 {"attention", WORK_ATTENTION},
                 {"naive_attention", WORK_ATTENTION},
                 {"element", WORK_ELEMENT},
                 {"dequant", WORK_ELEMENT},
                 {"optimizer", WORK_ELEMENT},
                 {"adapter", WORK_ADAPTER},
                 {"fixed", WORK_FIXED},
                 {"copy", WORK_COPY},
                 {"cpu_gemv", WORK_CPU_ROWS},
                 {"cpu_gemm", WORK_CPU_ROWS},
                 {"cpu_attention", WORK_CPU_ROWS},
                 {"cpu_optimizer", WORK_CPU_ADAM},
                 {"storage_read", WORK_STORAGE},
                 {"storage_write", WORK_STORAGE},
                 {"sync", WORK_SYNC}};
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(KINDS[i].kind, kind) == 0)
            return KINDS[i].work;
    return WORK_OTHER;
}

static bool read_lane(const struct reading *r, const cJSON *object, enum lane *lane) {
    static const char *const LANES[] = {[LANE_COMPUTE] = "gpu0 compute",
                                        [LANE_TO_DEVICE] = "copy to gpu0",
                                        [LANE_FROM_DEVICE] = "copy from gpu0",
                                        [LANE_COLLECTIVE] = "collectives of gpu0",
                                        [LANE_CPU] = "host compute",
                                        [LANE_STORAGE] = "storage",
                                        [LANE_ISSUE] = "host issue"};
    const char *word;
    if (!get_text(r, object, "lane", &word))
        return false;
    for (int i = 0; i < LANE_COUNT; i++)
        if (strcmp(LANES[i], word) == 0) {
            *lane = (enum lane)i;
            return true;
        }
    return fail(r, "lane '%.40s': this program executes plans of one device", word);
}

/* Work that can't be executed takes no part where it costs nothing, such as a collective of one. */
static bool is_free(const cJSON *object) {
    const cJSON *needs = cJSON_GetObjectItemCaseSensitive(object, "needs");
    const cJSON *latency = cJSON_GetObjectItemCaseSensitive(object, "latency_s");
    return cJSON_GetArraySize(needs) == 0 && cJSON_IsNumber(latency) && latency->valuedouble <= 0;
}

static bool check_work(const struct reading *r, const cJSON *object, bool once,
                       struct operation *op) {
    bool fp8, fp4;
    if (!get_bool(r, object, "fp8", &fp8) || !get_bool(r, object, "fp4", &fp4))
        return false;
    if (is_free(object) && (op->work == WORK_OTHER || op->work == WORK_STORAGE))
        op->work = WORK_NOTHING;
    if (once && op->work == WORK_STORAGE)
        op->work = WORK_NOTHING; /* no checkpoint is at hand */
    if (op->work == WORK_OTHER || op->work == WORK_STORAGE)
        return fail(r, "%.40s can't be executed by this program", op->kind);
    if (fp8 || fp4)
        return fail(r, "products in %s can't be executed by this program", fp8 ? "fp8" : "fp4");
    return true;
}

static bool read_after(const struct reading *r, const cJSON *object, struct operation *first,
                       struct operation *op) {
    const cJSON *list = get_array(r, object, "after"), *item;
    uint32_t *at = list ? room_for(r, list, sizeof *at, &op->after_count) : NULL;
    op->after = at;
    if (!at)
        return false;
    cJSON_ArrayForEach(item, list) {
        double place = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(place >= 0 && place < (double)(op - first)))
            return fail(r, "after: expected earlier operations");
        *at++ = (uint32_t)place;
        first[(size_t)place].awaited = true;
    }
    return true;
}

static bool read_operation(const struct reading *r, const cJSON *object, const struct plan *plan,
                           const struct phase *phase, struct operation *op) {
    const cJSON *layer = cJSON_GetObjectItemCaseSensitive(object, "layer");
    op->layer = cJSON_IsNumber(layer) ? layer->valueint : -1;
    if (!get_text(r, object, "kind", &op->kind) || !get_text(r, object, "what", &op->what) ||
        !read_lane(r, object, &op->lane) || !get_number(r, object, "flops", &op->flops) ||
        !get_number(r, object, "bytes", &op->bytes) ||
        !get_bounded(r, object, "kernels", KERNELS_MOST, &op->kernels) ||
        !get_bounded(r, object, "launches", KERNELS_MOST, &op->launches) ||
        !get_bounded(r, object, "cost_s", SECONDS_MOST, &op->cost_s) ||
        !get_number(r, object, "weight_bits", &op->weight_bits) ||
        !get_bool(r, object, "fp32", &op->fp32) || !get_bool(r, object, "pinned", &op->pinned))
        return false;
    op->work = work_of(op->kind);
    return check_work(r, object, phase->once, op) && read_after(r, object, phase->operations, op) &&
           read_actions(r, object, "memory", plan, &op->actions, &op->action_count);
}

/* ---- phases ---- */

static bool read_phase(struct reading *r, const cJSON *object, const struct plan *plan,
                       struct phase *phase) {
    const cJSON *list, *item, *seconds;
    if (!get_text(r, object, "name", &phase->name) ||
        !get_number(r, object, "count", &phase->count) ||
        !get_bounded(r, object, "tokens", TOKENS_MOST, &phase->tokens) ||
        !get_bool(r, object, "once", &phase->once) || !(list = get_array(r, object, "operations")))
        return false;
    seconds = cJSON_GetObjectItemCaseSensitive(object, "predicted_s");
    phase->predicted_s = cJSON_IsNumber(seconds) ? seconds->valuedouble : (double)NAN;
    phase->operations = room_for(r, list, sizeof *phase->operations, &phase->operation_count);
    if (!phase->operations)
        return false;
    struct operation *at = phase->operations;
    cJSON_ArrayForEach(item, list) {
        r->operation = (int)(at - phase->operations);
        if (!read_operation(r, item, plan, phase, at++))
            return false;
    }
    r->operation = -1;
    return read_actions(r, object, "memory_at_end", plan, &phase->at_end, &phase->at_end_count);
}

static bool read_phases(struct reading *r, const cJSON *root, struct plan *plan) {
    const cJSON *list = get_array(r, root, "phases"), *item;
    if (!list)
        return false;
    plan->phases = room_for(r, list, sizeof *plan->phases, &plan->phase_count);
    if (!plan->phases)
        return false;
    cJSON_ArrayForEach(item, list) {
        r->phase++;
        if (!read_phase(r, item, plan, &plan->phases[r->phase]))
            return false;
    }
    r->phase = -1;
    return true;
}

static bool read_root(struct reading *r, const cJSON *root, struct plan *plan) {
    const char *schema, *task;
    if (!get_text(r, root, "schema", &schema))
        return false;
    if (strcmp(schema, "vramsim-plan/1") != 0)
        return fail(r, "schema: found '%.40s', expected 'vramsim-plan/1'", schema);
    if (!get_text(r, cJSON_GetObjectItemCaseSensitive(root, "case"), "task", &task))
        return false;
    plan->trains = strcmp(task, "train") == 0;
    return read_buffers(r, root, plan) && read_phases(r, root, plan);
}

/* ---- the file ---- */

/* Terminated, to be freed. */
static char *read_file(const struct reading *r, size_t *size) {
    FILE *in = fopen(r->path, "rb");
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    while (in && !feof(in) && !ferror(in) && *size < FILE_MOST) {
        if (*size + 1 >= room) {
            char *more = realloc(text, room = room ? 2 * room : 1 << 16);
            if (!more)
                break;
            text = more;
        }
        *size += fread(text + *size, 1, room - *size - 1, in);
    }
    bool whole = in && feof(in) && !ferror(in) && text;
    if (in)
        (void)fclose(in);
    if (whole) {
        text[*size] = '\0';
        return text;
    }
    free(text);
    (void)fail(r, "can't be read");
    return NULL;
}

bool plan_read(const char *path, struct plan *plan, char line[LINE_SIZE]) {
    struct reading r = {.path = path, .line = line, .phase = -1, .operation = -1};
    size_t size;
    *plan = (struct plan){0};
    char *text = read_file(&r, &size);
    if (!text)
        return false;
    plan->document = cJSON_ParseWithLength(text, size);
    free(text);
    return plan->document ? read_root(&r, plan->document, plan) : fail(&r, "no JSON document");
}

static void release_phase(struct phase *phase) {
    for (size_t i = 0; i < phase->operation_count; i++) {
        free((void *)(uintptr_t)phase->operations[i].after);
        free((void *)(uintptr_t)phase->operations[i].actions);
    }
    free(phase->operations);
    free((void *)(uintptr_t)phase->at_end);
}

void plan_release(struct plan *plan) {
    for (size_t i = 0; i < plan->phase_count; i++)
        release_phase(&plan->phases[i]);
    free(plan->phases);
    free(plan->buffers);
    cJSON_Delete(plan->document);
    *plan = (struct plan){0};
}
