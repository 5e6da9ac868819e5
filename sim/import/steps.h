/* Step traces of training: how many tokens each sample of each optimizer step has, of one
 * data-parallel rank. Recognised by the first line:
 *
 *     step,lengths            CSV, a row a step: 0,"512 2048 97"
 *     step,length             CSV, a row a sample; rows of one step stand together
 *     {"step": 0, "lengths": [512, 2048, 97]}     JSON, an object a line; step may be missing
 *     length,count            CSV, a histogram from which samples are drawn
 *
 * A row that makes no sense is an error that names file and line, or is counted and left out. */
#ifndef VS_IMPORT_STEPS_H
#define VS_IMPORT_STEPS_H

#include <stdint.h>

#include "base/err.h"
#include "base/input.h"
#include "base/vec.h"

enum { VS_STEP_TOKENS_MOST = 4194304, VS_STEP_SAMPLES_MOST = 65536 };

struct vs_step {
    uint64_t number; /* as the file calls it, or counted from 0 */
    size_t first;    /* sample, in vs_step_trace.lengths */
    size_t count;
};

struct vs_step_trace {
    const char *form; /* "step lengths, CSV"; static */
    VS_VEC(uint32_t) lengths;
    VS_VEC(struct vs_step) steps;
    VS_VEC(uint64_t) weights; /* a histogram's: up to each length, summed; steps are to be drawn */
    uint64_t skipped;         /* rows left out */
};

/* Do the first bytes of a file look like a step trace? */
bool vs_step_trace_looks_like(const char *head, size_t length);
/* Fills an empty trace, which vs_step_trace_release frees, after a failure too. */
bool vs_step_trace_read(struct vs_input *in, bool skip_bad, struct vs_step_trace *trace,
                        struct vs_err *err);
void vs_step_trace_release(struct vs_step_trace *trace);

/* Is it a histogram, without steps of its own? */
static inline bool vs_step_trace_is_histogram(const struct vs_step_trace *trace) {
    return trace->weights.count > 0;
}
/* Draws steps of equally many samples from a histogram into `drawn`, which is empty. False when
 * memory runs out. */
bool vs_step_trace_draw(const struct vs_step_trace *histogram, uint64_t seed, uint64_t steps,
                        uint64_t samples, struct vs_step_trace *drawn);

#endif
