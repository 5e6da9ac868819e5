#include "result.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

static bool put_phase(cJSON *list, const struct phase *phase, const double *seconds,
                      unsigned rounds) {
    cJSON *object = cJSON_CreateObject();
    unsigned count = 0;
    if (!cJSON_AddItemToArray(list, object))
        return false;
    while (count < rounds && seconds[count] >= 0)
        count++;
    cJSON *measured = cJSON_CreateDoubleArray(seconds, (int)count);
    return cJSON_AddStringToObject(object, "name", phase->name) &&
           cJSON_AddBoolToObject(object, "once", phase->once) &&
           (isnan(phase->predicted_s)
                ? cJSON_AddNullToObject(object, "predicted_s")
                : cJSON_AddNumberToObject(object, "predicted_s", phase->predicted_s)) &&
           cJSON_AddItemToObject(object, "seconds", measured);
}

static bool put_phases(cJSON *root, const struct plan *plan, const struct executed *e) {
    cJSON *list = cJSON_AddArrayToObject(root, "phases");
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < plan->phase_count; i++)
        ok = put_phase(list, &plan->phases[i], e->seconds + i * e->rounds, e->rounds);
    return ok;
}

static bool put_span(cJSON *list, const struct plan *plan, const struct span *span) {
    static const char *const LANES[] = {
        [LANE_COMPUTE] = "compute", [LANE_TO_DEVICE] = "h2d",
        [LANE_FROM_DEVICE] = "d2h", [LANE_COLLECTIVE] = "collectives",
        [LANE_CPU] = "cpu",         [LANE_STORAGE] = "storage",
        [LANE_ISSUE] = "issue"};
    const struct operation *op = &plan->phases[span->phase].operations[span->operation];
    cJSON *object = cJSON_CreateObject();
    return cJSON_AddItemToArray(list, object) &&
           cJSON_AddNumberToObject(object, "phase", span->phase) &&
           cJSON_AddStringToObject(object, "lane", LANES[op->lane]) &&
           cJSON_AddStringToObject(object, "kind", op->kind) &&
           cJSON_AddStringToObject(object, "what", op->what) &&
           (op->layer < 0 ? cJSON_AddNullToObject(object, "layer")
                          : cJSON_AddNumberToObject(object, "layer", op->layer)) &&
           cJSON_AddNumberToObject(object, "start_s", span->start_s) &&
           cJSON_AddNumberToObject(object, "end_s", span->end_s);
}

static bool put_spans(cJSON *root, const struct plan *plan, const struct executed *e) {
    cJSON *list = cJSON_AddArrayToObject(root, "spans");
    bool ok = list != NULL;
    for (size_t i = 0; ok && i < e->span_count; i++)
        ok = put_span(list, plan, &e->spans[i]);
    return ok;
}

static bool put_memory(cJSON *root, const struct executed *e) {
    cJSON *object = cJSON_AddObjectToObject(root, "memory");
    return object && cJSON_AddNumberToObject(object, "device_peak_bytes", (double)e->device_peak) &&
           cJSON_AddNumberToObject(object, "device_own_bytes", (double)e->device_own) &&
           cJSON_AddNumberToObject(object, "host_peak_bytes", (double)e->host_peak);
}

static bool put_oom(cJSON *root, const struct executed *e) {
    if (!e->oom_phase)
        return cJSON_AddNullToObject(root, "oom") != NULL;
    cJSON *object = cJSON_AddObjectToObject(root, "oom");
    return object && cJSON_AddStringToObject(object, "phase", e->oom_phase) &&
           cJSON_AddStringToObject(object, "buffer", e->oom_buffer);
}

static bool put_head(cJSON *root, const char *program, const char *device) {
    char date[16] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        (void)strftime(date, sizeof date, "%Y-%m-%d", &parts);
    return cJSON_AddStringToObject(root, "schema", "vramsim-executed/1") &&
           cJSON_AddStringToObject(root, "program", program) &&
           cJSON_AddStringToObject(root, "date", date) &&
           cJSON_AddStringToObject(root, "device", device);
}

char *result_text(const struct plan *plan, const struct executed *e, const char *program,
                  const char *device) {
    cJSON *root = cJSON_CreateObject();
    bool ok = root && put_head(root, program, device) && put_phases(root, plan, e) &&
              put_memory(root, e) && put_oom(root, e) && put_spans(root, plan, e);
    char *text = ok ? cJSON_PrintUnformatted(root) : NULL;
    cJSON_Delete(root);
    return text;
}
