/* Samples become a profile: a machine file with its host and storage as parts, that --hw takes at
 * once. Every number says what it was measured by, how often, and half of its 95 % interval. */
#ifndef VS_CALIB_PROFILE_H
#define VS_CALIB_PROFILE_H

#include "base/text.h"
#include "calib/fit.h"
#include "import/samples.h"

struct vs_found {
    const char *path; /* "host.measured_bytes_per_s": part and field of hw/fields.c */
    struct vs_fitted fitted;
    const char *source;
};

struct vs_profile {
    const char *name, *title;
    struct vs_found found[32];
    size_t found_count;
    const char *notes[16]; /* "storage: not measured (no file can be made in the folder)" */
    size_t note_count;
    bool storage; /* its numbers were measured */
};

/* `name`: plain (a-z 0-9 - _ .). An error when a probe is missing that a host can't do without. */
bool vs_profile_fit(struct vs_arena *arena, const struct vs_samples *samples, const char *name,
                    struct vs_profile *profile, struct vs_err *err);

/* The machine file. */
void vs_profile_write(struct vs_text *out, const struct vs_profile *profile);

#endif
