#include "calib/measure.h"

#include <unistd.h>

#include "base/file.h"
#include "base/program.h"

static const char HOST_PROBE[] = "vramsim-probe", GPU_PROBE[] = "vramsim-probe-cuda";

static bool measure(struct vs_arena *arena, const char *name,
                    const struct vs_measure_options *options, const char **path, int *status,
                    struct vs_err *err) {
    const char *file;
    const char *const words[] = {options->full ? "--full" : "--quick", "--folder",
                                 options->folder ? options->folder : ".", NULL};
    *path = NULL;
    if (options->folder && !vs_dir_exists(options->folder))
        return vs_err_at(err, options->folder, 0, 0, "no such folder");
    if (!vs_program_file(arena, &file, err))
        return false;
    bool ok = vs_program_run(arena, name, words, file, status, err);
    if (ok && *status == 0)
        *path = file;
    else
        (void)unlink(file);
    return ok;
}

static bool failed(const char *name, int status, struct vs_err *err) {
    return vs_err_set(err, VS_ERR_IO, "%s ended with status %d: nothing is written", name, status);
}

bool vs_measure(struct vs_arena *arena, const struct vs_measure_options *options, const char **path,
                struct vs_err *err) {
    int status = 0;
    if (!measure(arena, HOST_PROBE, options, path, &status, err))
        return false;
    if (status == VS_PROGRAM_NOT_FOUND)
        return vs_err_set(
            err, VS_ERR_IO,
            "%s was not found beside this program nor in PATH: it measures the machine",
            HOST_PROBE);
    return status == 0 || failed(HOST_PROBE, status, err);
}

bool vs_measure_gpu(struct vs_arena *arena, const struct vs_measure_options *options,
                    const char **path, struct vs_err *err) {
    int status = 0;
    if (!measure(arena, GPU_PROBE, options, path, &status, err))
        return false;
    return status == 0 || status == 1 || status == VS_PROGRAM_NOT_FOUND ||
           failed(GPU_PROBE, status, err);
}
