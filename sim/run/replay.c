#include "run/replay.h"

#include "base/input.h"
#include "base/text.h"
#include "import/alloc_trace.h"
#include "import/find.h"
#include "import/steps.h"

static enum vs_replay_kind kind_of_words(const struct vs_values *user) {
    if (vs_is(user, VS_AXIS_TASK, "train"))
        return VS_REPLAY_STEPS;
    bool named = vs_given(user, VS_AXIS_MODEL) || vs_given(user, VS_AXIS_WORKLOAD);
    return named ? VS_REPLAY_REQUESTS : VS_REPLAY_ALLOCATIONS;
}

static enum vs_replay_kind kind_of_bytes(const char *head, size_t length) {
    if (vs_alloc_reader_find(head, length))
        return VS_REPLAY_ALLOCATIONS;
    return vs_step_trace_looks_like(head, length) ? VS_REPLAY_STEPS : VS_REPLAY_REQUESTS;
}

static const char *path_of(struct vs_arena *arena, const struct vs_values *user,
                           struct vs_err *err) {
    const char *path = vs_trace_find(arena, user->at[VS_AXIS_TRACE].text);
    if (!path)
        (void)vs_err_nomem(err);
    return path;
}

bool vs_replay_kind_of(struct vs_arena *arena, const struct vs_values *user,
                       enum vs_replay_kind *kind, struct vs_err *err) {
    const char *path = path_of(arena, user, err);
    if (!path)
        return false;
    if (vs_streq(path, "-")) {
        *kind = kind_of_words(user);
        return true;
    }
    const char *head;
    size_t length;
    struct vs_input *in = vs_input_open(path, err);
    bool ok = in && vs_input_peek(in, &head, &length, err);
    if (ok)
        *kind = kind_of_bytes(head, length);
    vs_input_close(in);
    return ok;
}

/* ---- the kinds ---- */

/* Without a task requests are served. */
static bool replay_requests(struct vs_arena *arena, const struct vs_request *request,
                            const struct vs_replay_options *options,
                            const struct vs_outcome **outcome, struct vs_err *err) {
    struct vs_request *served = VS_NEW(arena, struct vs_request);
    if (!served)
        return vs_err_nomem(err);
    *served = *request;
    if (!vs_given(&served->user, VS_AXIS_TASK)) {
        served->user.origin[VS_AXIS_TASK] = VS_FROM_USER;
        if (!vs_axis_parse(arena, VS_AXIS_TASK, "serve", "--task", &served->user.at[VS_AXIS_TASK],
                           err))
            return false;
    }
    return vs_run(arena, served, &options->run, outcome, err);
}

/* The request without its trace, which other kinds have read. */
static struct vs_request *without_trace(struct vs_arena *arena, const struct vs_request *request,
                                        struct vs_err *err) {
    struct vs_request *rest = VS_NEW(arena, struct vs_request);
    if (!rest) {
        (void)vs_err_nomem(err);
        return NULL;
    }
    *rest = *request;
    rest->user.at[VS_AXIS_TRACE] = (struct vs_value){.text = NULL};
    rest->user.origin[VS_AXIS_TRACE] = VS_FROM_NOTHING;
    return rest;
}

static bool replay_steps(struct vs_arena *arena, const struct vs_request *request, const char *path,
                         const struct vs_replay_options *options, const struct vs_outcome **outcome,
                         struct vs_err *err) {
    struct vs_step_trace trace = {.form = NULL};
    struct vs_input *in = vs_input_open(path, err);
    bool ok = in && vs_step_trace_read(in, options->skip_bad, &trace, err) &&
              vs_replay_steps(arena, request, &trace, &options->steps, &options->run, outcome, err);
    vs_input_close(in);
    vs_step_trace_release(&trace);
    return ok;
}

static bool read_allocations(struct vs_input *in, bool skip_bad, struct vs_alloc_trace *trace,
                             struct vs_err *err) {
    const struct vs_alloc_options how = {.skip_bad = skip_bad};
    const char *head;
    size_t length;
    if (!vs_input_peek(in, &head, &length, err))
        return false;
    const struct vs_alloc_reader *reader = vs_alloc_reader_find(head, length);
    if (!reader)
        return vs_err_at(err, vs_input_name(in), 1, 0,
                         "expected allocator events as CSV, a memory timeline or a memory "
                         "snapshot (requests and steps need --model)");
    return vs_alloc_trace_read(reader, in, &how, trace, err);
}

static bool replay_allocations(struct vs_arena *arena, const struct vs_request *request,
                               const char *path, const struct vs_replay_options *options,
                               const struct vs_outcome **outcome, struct vs_err *err) {
    struct vs_alloc_trace trace = {.reader = NULL};
    struct vs_input *in = vs_input_open(path, err);
    bool ok = in && read_allocations(in, options->skip_bad, &trace, err) &&
              vs_replay_memory(arena, request, &trace, options->run.timeline, outcome, err);
    vs_input_close(in);
    vs_alloc_trace_release(&trace);
    return ok;
}

bool vs_replay(struct vs_arena *arena, const struct vs_request *request, enum vs_replay_kind kind,
               const struct vs_replay_options *options, const struct vs_outcome **outcome,
               struct vs_err *err) {
    if (kind == VS_REPLAY_REQUESTS)
        return replay_requests(arena, request, options, outcome, err);
    const char *path = path_of(arena, &request->user, err);
    struct vs_request *rest = path ? without_trace(arena, request, err) : NULL;
    if (!rest)
        return false;
    return kind == VS_REPLAY_STEPS ? replay_steps(arena, rest, path, options, outcome, err)
                                   : replay_allocations(arena, rest, path, options, outcome, err);
}
