/* Between the files of calib/ only: a profile while it is made of samples. */
#ifndef VS_CALIB_BUILD_H
#define VS_CALIB_BUILD_H

#include "calib/profile.h"

struct vs_calib {
    struct vs_arena *arena;
    const struct vs_samples *samples;
    struct vs_profile *profile;
    const char *hw; /* the profile to begin with; NULL = that of the GPU's name */
};

/* A number and where it comes from. `path` and the text live as long as the arena; a NULL text is
 * memory that ran out. */
bool vs_calib_add(struct vs_calib *b, const char *path, struct vs_fitted fitted, const char *what,
                  struct vs_err *err);
/* One that was not measured by repetitions. */
bool vs_calib_fact(struct vs_calib *b, const char *path, double value, const char *what,
                   struct vs_err *err);
bool vs_calib_note(struct vs_calib *b, const char *text, struct vs_err *err);

/* Work per second of one sample. */
bool vs_calib_rate(const struct vs_sample *s, struct vs_fitted *rate, struct vs_err *err);
/* Is this a measured sample of the probe, and of the variant unless that is NULL? */
bool vs_calib_is(const struct vs_sample *s, const char *probe, const char *variant);
/* The fastest sample of a probe, and of a variant unless that is NULL. *best is NULL when there is
 * none. */
bool vs_calib_fastest(const struct vs_calib *b, const char *probe, const char *variant,
                      const struct vs_sample **best, struct vs_fitted *rate, struct vs_err *err);
/* The same of the samples with the largest working set: small ones may live in a cache. */
bool vs_calib_largest(const struct vs_calib *b, const char *probe, const char *variant,
                      const struct vs_sample **best, struct vs_fitted *rate, struct vs_err *err);
/* An error that names the probe that is missing, and why it is. */
bool vs_calib_missing(const struct vs_calib *b, const char *probe, const char *of,
                      struct vs_err *err);

/* device.c: the numbers of GPU and link. */
bool vs_calib_device(struct vs_calib *b, struct vs_err *err);

/* known.c: the profile that the measured GPU's numbers are put into: the one asked for, else that
 * of its name, else one of its generation, scaled. NULL when the samples name no GPU that is known;
 * *scaled says that it was not the device itself. */
bool vs_known_device(struct vs_calib *b, const struct vs_machine **machine, bool *scaled,
                     struct vs_err *err);

#endif
