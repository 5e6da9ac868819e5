/* vramsim as a library: describe one point in the words of the command line, run it, read what came
 * out. The only header that is installed; no promise of a stable ABI before version 1.0.
 *
 *     struct vramsim_error err;
 *     struct vramsim *sim = vramsim_open(NULL, &err);
 *     struct vramsim_request *request = sim ? vramsim_request_new(sim, &err) : NULL;
 *     if (request && vramsim_set(request, "hw", "rtx4090", &err) &&
 *         vramsim_set(request, "workload", "chat8b", &err)) {
 *         struct vramsim_result *result = vramsim_run(request, &err);
 *         double decode_tps;
 *         if (result && vramsim_result_metric(result, "decode_tps", &decode_tps, &err))
 *             printf("fits: %d, %.1f tok/s\n", vramsim_result_fits(result), decode_tps);
 *         vramsim_result_free(result);
 *     }
 *     vramsim_request_free(request);
 *     vramsim_close(sim);
 *
 * Failure: NULL or false, and where `err` is not NULL it is filled. A predicted lack of memory is a
 * result, not a failure. Nothing here prints, exits, or keeps hidden state; input from files and
 * words may be hostile.
 *
 * Ownership: what vramsim_open, vramsim_request_new and vramsim_run return is the caller's to free,
 * in any order but that a `struct vramsim` outlives its requests; a result needs neither. Texts
 * that are passed in are copied. Texts that come from a result live as long as the result. Freeing
 * NULL does nothing.
 *
 * Threads: a `struct vramsim` and a result never change and may be shared. A request may be used by
 * one thread at a time; requests of their own may run at the same time. The environment is read
 * (VRAMSIM_PATH): don't call setenv meanwhile. The locale of the calling program doesn't matter. */
#ifndef VRAMSIM_H
#define VRAMSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VRAMSIM_API __attribute__((visibility("default")))
#else
#define VRAMSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum vramsim_status {
    VRAMSIM_OK = 0,
    VRAMSIM_BAD_INPUT, /* an unknown name, a value out of range, a broken file */
    VRAMSIM_IO,        /* a file could not be read */
    VRAMSIM_NO_MEMORY, /* this process ran out of memory */
};

struct vramsim_error {
    enum vramsim_status status;
    char text[512]; /* one line: what failed, where, what was expected */
};

struct vramsim;         /* where the data are */
struct vramsim_request; /* what is to be run */
struct vramsim_result;  /* what came out */

/* "0.1.0". */
VRAMSIM_API const char *vramsim_version(void);

/* `data_root` is a folder that holds hwprofiles/ and workloads/ and comes before all others; NULL =
 * only where the command looks: VRAMSIM_PATH, then the install prefix. */
VRAMSIM_API struct vramsim *vramsim_open(const char *data_root, struct vramsim_error *err);
VRAMSIM_API void vramsim_close(struct vramsim *sim);

VRAMSIM_API struct vramsim_request *vramsim_request_new(const struct vramsim *sim,
                                                        struct vramsim_error *err);
VRAMSIM_API void vramsim_request_free(struct vramsim_request *request);

/* One option of `vramsim run`, without its dashes: "hw", "workload", "ctx", "gpu-layers" (see
 * `vramsim help run`), and its value ("rtx4090", "8k", "24GiB"). Given again, it is replaced; value
 * NULL takes it back. Names of models and devices are looked up by vramsim_run. */
VRAMSIM_API bool vramsim_set(struct vramsim_request *request, const char *option, const char *value,
                             struct vramsim_error *err);

/* Overrides one number of the hardware or the model, as --set does: "device.memory.bandwidth",
 * "900GB/s". Given again, it is replaced; value NULL takes it back. */
VRAMSIM_API bool vramsim_override(struct vramsim_request *request, const char *path,
                                  const char *value, struct vramsim_error *err);

/* Runs the point on the calling thread; the request stays as it is and may be changed and run
 * again. */
VRAMSIM_API struct vramsim_result *vramsim_run(const struct vramsim_request *request,
                                               struct vramsim_error *err);
VRAMSIM_API void vramsim_result_free(struct vramsim_result *result);

/* Does it run without running out of memory? */
VRAMSIM_API bool vramsim_result_fits(const struct vramsim_result *result);

/* A metric by its name ("decode_tps", "peak_vram_gib"), in the unit that `vramsim list metrics`
 * says. NaN where it does not apply to this run; false only for a name that doesn't exist. */
VRAMSIM_API bool vramsim_result_metric(const struct vramsim_result *result, const char *name,
                                       double *value, struct vramsim_error *err);

/* The request for memory that failed first. */
struct vramsim_oom {
    const char *pool;      /* "gpu0", "host" */
    const char *phase;     /* "load", "prefill", "backward" */
    const char *operation; /* what asked */
    const char *tensor;    /* what for */
    uint64_t requested_bytes, in_use_bytes, capacity_bytes;
    uint64_t short_bytes;  /* lacking for this request */
    uint64_t needed_bytes; /* what the whole run would take of this pool */
};

/* False, and `oom` untouched, where it fits. */
VRAMSIM_API bool vramsim_result_oom(const struct vramsim_result *result, struct vramsim_oom *oom);

/* All of it, as `vramsim run --json` prints it; UTF-8, zero-terminated. `length` may be NULL. */
VRAMSIM_API const char *vramsim_result_json(const struct vramsim_result *result, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
