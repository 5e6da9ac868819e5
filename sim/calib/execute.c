#include "calib/execute.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/program.h"
#include "base/text.h"

/* The program of a device's kind, and which device of the kind. */
struct target {
    const char *program, *device;
};

static bool find_target(const char *on, struct target *out, struct vs_err *err) {
    char *end;
    if (vs_streq(on, "cpu")) {
        *out = (struct target){"vramsim-execute", "0"};
        return true;
    }
    if (vs_starts(on, "cuda:") && on[5] >= '0' && on[5] <= '9' && strtol(on + 5, &end, 10) < 1000 &&
        *end == '\0') {
        *out = (struct target){"vramsim-execute-cuda", on + 5};
        return true;
    }
    return vs_err_set(err, VS_ERR_INPUT, "--on: found '%.60s', expected cpu or cuda:N", on);
}

static bool write_plan(const struct vs_request *request, const char *path, struct vs_err *err) {
    struct vs_text text = {0};
    bool ok = vs_run_plan_json(request, &text, err) &&
              vs_file_write(path, vs_text_str(&text), text.length, err);
    vs_text_release(&text);
    return ok;
}

/* The program has said on standard error what was wrong. */
static bool ended_well(const struct target *t, int status, struct vs_err *err) {
    if (status == 0)
        return true;
    if (status == VS_PROGRAM_NOT_FOUND)
        return vs_err_set(err, VS_ERR_IO,
                          "%s was not found beside this program nor in PATH: it executes plans",
                          t->program);
    return vs_err_set(err, VS_ERR_IO, "%s ended with status %d: nothing was executed", t->program,
                      status);
}

bool vs_execute(struct vs_arena *arena, const struct vs_request *request, const char *on,
                bool spans, const struct vs_executed **executed, struct vs_err *err) {
    struct target t = {0};
    const char *plan, *result;
    int status = 0;
    struct vs_executed *found = VS_NEW(arena, struct vs_executed);
    if (!found)
        return vs_err_nomem(err);
    if (!find_target(on, &t, err) || !vs_program_file(arena, &plan, err))
        return false;
    if (!vs_program_file(arena, &result, err)) {
        (void)unlink(plan);
        return false;
    }
    const char *const words[] = {"--device", t.device, plan, spans ? "--spans" : NULL, NULL};
    bool ok = write_plan(request, plan, err) &&
              vs_program_run(arena, t.program, words, result, &status, err) &&
              ended_well(&t, status, err) && vs_executed_read(arena, result, found, err);
    (void)unlink(plan);
    (void)unlink(result);
    *executed = found;
    return ok;
}
