/* Samples: what probes measured, as raw seconds (kernels/README.md), or what the output of other
 * tools says in their terms (import/tool.h). Everything lives in the arena. */
#ifndef VS_IMPORT_SAMPLES_H
#define VS_IMPORT_SAMPLES_H

#include "base/arena.h"
#include "base/err.h"

/* One series of repetitions of the same work; zero where something was not said. */
struct vs_sample {
    const char *probe;
    const char *skipped; /* why it was not measured; the rest is empty then */
    const char *unit;    /* of work: "bytes", "flops" */
    double work;         /* of one repetition */
    const char *variant; /* "h2d-pinned", "bf16"; NULL where a probe has one kind */
    double threads, bytes, block_bytes, depth, m, n, k, devices;
    double *seconds;
    size_t count;
};

/* A device at one moment, as its driver says; zero where something was not said. */
struct vs_gpu_state {
    double temperature_c, clock_hz, power_w;
};

/* The GPU that was measured; zero where something was not said. */
struct vs_samples_gpu {
    const char *name; /* as CUDA has it: "NVIDIA GeForce RTX 4090"; NULL = none */
    double count, memory_bytes, free_bytes, driver, runtime, compute_capability, sms, clock_hz,
        l2_bytes;
    struct vs_gpu_state before, after; /* its probes */
    double context_bytes; /* of a process of PyTorch, beside its tensors; no probe measures it */
};

struct vs_samples {
    const char *file, *program, *date;
    const char *processor; /* NULL in what a tool wrote, which says nothing of the host */
    struct vs_samples_gpu gpu;
    double cores, sockets, ram_bytes, available_bytes;
    double storage_bytes; /* of the file system that was measured; 0 = not said */
    struct vs_sample *at;
    size_t count;
};

/* Reads a document of samples, or the output of a tool of import/tool_list.def, told by its
 * content; numbers are checked to be usable (finite, above 0). */
bool vs_samples_read(struct vs_arena *arena, const char *path, struct vs_samples *samples,
                     struct vs_err *err);

/* The same over a terminated text that stays; `path` is what messages call it. */
bool vs_samples_over(struct vs_arena *arena, const char *path, const char *text, size_t length,
                     struct vs_samples *samples, struct vs_err *err);

/* Adds what `more` has and `into` hasn't: samples, a host, a GPU. */
bool vs_samples_join(struct vs_arena *arena, struct vs_samples *into, const struct vs_samples *more,
                     struct vs_err *err);

/* The first reason why a probe was skipped; NULL when it was measured. "not run" when it is not
 * there. */
const char *vs_samples_skipped(const struct vs_samples *samples, const char *probe);

#endif
