#include "report/result.h"

#include "base/text.h"

const char *vs_result_kind(const struct vs_result *result) {
    return result->sweep    ? "sweep"
           : result->run    ? "run"
           : result->limits ? "limit"
           : result->replay ? "replay"
                            : "validate";
}

bool vs_result_is(const struct vs_result *result, const char *kind) {
    return vs_streq(kind, vs_result_kind(result)) || (result->replay && vs_streq(kind, "replay"));
}

struct vs_result vs_result_of_run(const struct vs_outcome *outcome) {
    return (struct vs_result){.run = outcome, .replay = outcome->replayed};
}

const struct vs_outcome *const *vs_result_points(const struct vs_result *result, size_t *count) {
    *count = result->sweep ? result->sweep->point_count : result->run ? 1 : 0;
    return result->sweep ? result->sweep->points : &result->run;
}

enum vs_metric vs_result_speed(const struct vs_outcome *point) {
    const char *task = point->task ? point->task : "";
    return vs_streq(task, "train")   ? VS_METRIC_TRAIN_TPS
           : vs_streq(task, "serve") ? VS_METRIC_OUT_TPS
                                     : VS_METRIC_DECODE_TPS;
}
