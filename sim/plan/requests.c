#include "plan/requests.h"

#include "base/text.h"

bool vs_requests_given(const struct vs_values *axes) {
    return vs_given(axes, VS_AXIS_REQUESTS) || vs_given(axes, VS_AXIS_CONCURRENCY) ||
           vs_given(axes, VS_AXIS_RATE) || vs_given(axes, VS_AXIS_TRACE);
}

static const enum vs_axis OF_ONE_BATCH[] = {VS_AXIS_BATCH, VS_AXIS_DEPTH};
enum { OF_ONE_BATCH_COUNT = sizeof OF_ONE_BATCH / sizeof *OF_ONE_BATCH };

bool vs_requests_without(const struct vs_values *axes, enum vs_axis axis) {
    bool of_one_batch = false;
    for (size_t i = 0; i < OF_ONE_BATCH_COUNT; i++)
        of_one_batch |= OF_ONE_BATCH[i] == axis;
    return of_one_batch && vs_requests_given(axes);
}

static bool refuse(struct vs_err *err, const char *axis, const char *value, const char *why) {
    return vs_err_at(err, NULL, 0, 0, "--%s %s %s", axis, value, why);
}

/* Lengths that are drawn. */
static bool check_drawn(const struct vs_values *axes, struct vs_err *err) {
    int64_t longest = vs_count(axes, VS_AXIS_PROMPT) + vs_count(axes, VS_AXIS_GEN);
    if (vs_count(axes, VS_AXIS_PROMPT) < 1)
        return refuse(err, "prompt", "0", "makes no request; expected at least 1");
    if (vs_count(axes, VS_AXIS_GEN) < 1)
        return refuse(err, "gen", "0", "makes no request; expected at least 1");
    if (vs_count(axes, VS_AXIS_CTX) < longest)
        return refuse(err, "ctx", axes->at[VS_AXIS_CTX].text,
                      "is less than prompt and generated tokens of a request");
    return true;
}

bool vs_requests_take_trace(struct vs_values *axes, struct vs_err *err) {
    static const enum vs_axis LENGTHS[] = {VS_AXIS_PROMPT, VS_AXIS_GEN, VS_AXIS_LENGTH_RANGE};
    for (size_t i = 0; vs_given(axes, VS_AXIS_TRACE) && i < sizeof LENGTHS / sizeof *LENGTHS; i++) {
        enum vs_axis a = LENGTHS[i];
        if (axes->origin[a] == VS_FROM_USER)
            return refuse(err, vs_axis_info(a)->name, axes->at[a].text,
                          "does not apply to --trace, which states lengths");
        axes->at[a] = (struct vs_value){.text = NULL};
        axes->origin[a] = VS_FROM_NOTHING;
    }
    return true;
}

bool vs_requests_check(const struct vs_values *axes, const char *task, struct vs_err *err) {
    if (!vs_streq(task, "serve") || !vs_requests_given(axes))
        return true;
    if (vs_given(axes, VS_AXIS_CONCURRENCY) && vs_given(axes, VS_AXIS_RATE) &&
        !vs_is(axes, VS_AXIS_RATE, "inf"))
        return refuse(err, "rate", axes->at[VS_AXIS_RATE].text,
                      "does not apply to --concurrency, whose clients wait for answers; "
                      "expected one of them, or inf");
    if (vs_given(axes, VS_AXIS_CV) &&
        (!vs_given(axes, VS_AXIS_RATE) || vs_is(axes, VS_AXIS_RATE, "inf")))
        return refuse(err, "cv", axes->at[VS_AXIS_CV].text,
                      "is about arrivals at a rate; expected --rate R");
    if (!vs_given(axes, VS_AXIS_TRACE) && !check_drawn(axes, err))
        return false;
    if (vs_is(axes, VS_AXIS_KV_ALLOC, "dynamic"))
        return refuse(err, "kv-alloc", axes->at[VS_AXIS_KV_ALLOC].text,
                      "does not apply to requests; expected paged or contiguous");
    for (size_t i = 0; i < OF_ONE_BATCH_COUNT; i++)
        if (axes->origin[OF_ONE_BATCH[i]] >= VS_FROM_WORKLOAD)
            return refuse(err, vs_axis_info(OF_ONE_BATCH[i])->name, axes->at[OF_ONE_BATCH[i]].text,
                          "does not apply to requests; expected --concurrency or --requests");
    return true;
}
