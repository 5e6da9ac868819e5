#include "run/outcome.h"

#include <string.h>

static const struct vs_metric_info metrics[VS_METRIC_COUNT] = {
#define X(id, name, unit, help) [VS_METRIC_##id] = {name, unit, help},
#include "run/metrics.def"
#undef X
};

const struct vs_metric_info *vs_metric_info(enum vs_metric metric) { return &metrics[metric]; }

bool vs_metric_is_speed(enum vs_metric metric) { return metric <= VS_METRIC_MFU; }

bool vs_metric_find(const char *name, enum vs_metric *metric) {
    for (int i = 0; i < VS_METRIC_COUNT; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            *metric = (enum vs_metric)i;
            return true;
        }
    }
    return false;
}
