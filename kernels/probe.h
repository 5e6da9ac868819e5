/* Probes: small programs of known work whose time says what a machine can do.
 *
 * A probe is one file and one line of list.def. Its first comment says what it measures, and the
 * formula of the bytes or operations that it counts. It checks its own result before its time
 * counts. All that a probe measures goes out as *samples*: raw seconds of each repetition, with the
 * work of one and what it was done with. Fitting numbers to samples is the simulator's part; the
 * two share no header, only the JSON of samples.c. */
#ifndef VRAMSIM_PROBE_H
#define VRAMSIM_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a session allows: a quick one takes seconds to a probe, a full one minutes. */
struct probe_limits {
    double seconds;     /* of repetitions of one sample */
    size_t bytes;       /* of one working set in memory */
    size_t file_bytes;  /* of the file that storage probes read */
    unsigned threads;   /* processors that this process may use */
    const char *folder; /* where storage probes put their file */
};

struct session; /* collects samples: samples.c */

struct probe {
    const char *name; /* "cpu_read" */
    const char *what; /* one line */
    void (*run)(struct session *session, const struct probe_limits *limits);
};

/* One repetition; returns the seconds that count (the probe's own clock leaves preparation out), or
 * a negative number when it failed. */
typedef double (*probe_repeat)(void *context);

/* What a sample was done with. Zero fields are left out of the output. */
struct sample {
    double work;      /* of one repetition */
    const char *unit; /* of work: "bytes", "flops", "elements", "operations" */
    unsigned threads;
    size_t bytes;        /* working set */
    size_t block_bytes;  /* of one request to storage */
    unsigned depth;      /* requests in flight */
    uint64_t m, n, k;    /* of a matrix product */
    const char *variant; /* "bf16", "h2d-pinned": which of a probe's kinds; NULL = it has one */
    unsigned devices;    /* that take part, where there may be several */
};

/* Repeats until the mean is known within 1 % (95 %), the time is up, or 1,000 are made; the first
 * are warm-up and don't count. A failed repetition makes the sample a skipped one. */
void session_measure(struct session *session, const struct probe_limits *limits,
                     const struct sample *sample, probe_repeat repeat, void *context);
/* The probe can't run here, or its result was wrong. */
void session_skip(struct session *session, const char *reason);
/* All that follows is of this probe. */
void session_begin(struct session *session, const struct probe *probe);

/* What a program needs before its first probe; it may add facts. NULL, or a line that says why
 * there is nothing to measure. cpu/machine.c, cuda/gpu.cu */
const char *machine_prepare(struct session *session);
/* After the last probe: it may add facts. */
void machine_finish(struct session *session);
/* The machine's "gpu": a member more. */
void session_fact_text(struct session *session, const char *key, const char *value);
void session_fact(struct session *session, const char *key, double value);

/* samples.c */
struct session *session_new(bool progress); /* NULL when memory runs out */
void session_free(struct session *session);
/* The document of samples, to be freed; NULL when memory ran out at any time. */
char *session_text(const struct session *session, const char *program,
                   const struct probe_limits *limits);
/* Announces how many probes will run; then each as it starts. For the progress bar on standard
 * error. */
void session_progress(const struct session *session, size_t done, size_t all, const char *name);

/* clock.c */
double now_s(void); /* monotonic */

/* team.c: runs task(context, part, parts) in `parts` threads that start together; returns the
 * seconds between the first one's start and the last one's end, negative when threads can't be had.
 */
typedef void (*team_task)(void *context, unsigned part, unsigned parts);
double team_run(unsigned parts, team_task task, void *context);
/* The part of `count` items that is thread `part`'s: [first, first + number). */
size_t team_share(size_t count, unsigned part, unsigned parts, size_t *first);
/* 1, 2, 4, ... and `most` itself; returns how many. */
size_t team_sizes(unsigned most, unsigned sizes[32]);
/* Processors that this process may use: fewer than there are in a container or under taskset. */
unsigned team_processors(void);

#ifdef __cplusplus
}
#endif

#endif
