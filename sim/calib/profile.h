/* Samples become a profile: a machine file with what was measured as parts, that --hw takes at
 * once. Every number says what it was measured by, how often, and half of its 95 % interval. A
 * GPU's part begins as the profile of its name, or as one of its generation, and has its numbers
 * replaced by those that were measured. */
#ifndef VS_CALIB_PROFILE_H
#define VS_CALIB_PROFILE_H

#include "base/text.h"
#include "calib/fit.h"
#include "hw/machine.h"
#include "import/samples.h"

struct vs_found {
    const char *path; /* "host.measured_bytes_per_s": part and field of hw/fields.c */
    struct vs_fitted fitted;
    const char *source;
};

struct vs_profile {
    const char *name, *title;
    const char *host_title; /* of host and storage */
    struct vs_found found[96];
    size_t found_count;
    const char *notes[256]; /* "storage: not measured (no file can be made in the folder)" */
    size_t note_count;
    bool host, storage, device, link; /* parts with measured numbers */
    const struct vs_machine *base;    /* of the GPU; NULL without one */
    const struct vs_host *other_host; /* stands for a host that was not measured */
    const struct vs_link *link_base;  /* has what was not measured of the link; NULL without one */
    const struct vs_storage *storage_base; /* and of the storage */
};

/* `name`: plain (a-z 0-9 - _ .). `hw`: the profile that a GPU's numbers go into; NULL = the one of
 * its name. An error when nothing was measured of which a part can be made, or
 * a probe of vramsim's own is missing that a host, or a device, can't do without. */
bool vs_profile_fit(struct vs_arena *arena, const struct vs_samples *samples, const char *name,
                    const char *hw, struct vs_profile *profile, struct vs_err *err);

/* A number of a profile by its path; NULL where there is no such field, and of a machine where it
 * has no such part or the number is unknown. */
const struct vs_field *vs_profile_field(const char *path);
const struct vs_num *vs_profile_number(const struct vs_machine *machine, const char *path);

/* The machine file. */
void vs_profile_write(struct vs_text *out, const struct vs_profile *profile);

#endif
