/* Which profile a measured GPU is: CUDA's name ("NVIDIA A100-SXM4-80GB") against the titles of
 * device files ("NVIDIA A100 SXM 80 GB"), word by word, then its multiprocessors and its memory. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/data.h"
#include "base/units.h"
#include "calib/build.h"

#define MEMORY_TOLERANCE 0.1 /* labels count in GiB or GB, and drivers keep a part */
enum { WORDS_MOST = 16, WORD_SIZE = 32 };

struct words {
    char at[WORDS_MOST][WORD_SIZE];
    size_t count;
};

/* What says nothing about the model, or is checked by numbers. */
static bool is_filler(const char *word) {
    static const char *const FILLERS[] = {"nvidia",     "geforce", "tesla", "quadro",
                                          "generation", "gpu",     "gb",    "hbm2",
                                          "hbm2e",      "hbm3",    "hbm3e"};
    for (size_t i = 0; i < sizeof FILLERS / sizeof *FILLERS; i++)
        if (vs_streq(word, FILLERS[i]))
            return true;
    size_t digits = strspn(word, "0123456789");
    return digits > 0 && vs_streq(word + digits, "gb");
}

/* Lower case, split at what is no letter or digit; "sxm4" and "sxm2" are "sxm". */
static void split_name(const char *name, struct words *words) {
    words->count = 0;
    while (*name != '\0' && words->count < WORDS_MOST) {
        char *word = words->at[words->count];
        size_t length = 0;
        while (*name != '\0' && !isalnum((unsigned char)*name))
            name++;
        for (; isalnum((unsigned char)*name); name++)
            if (length + 1 < WORD_SIZE)
                word[length++] = (char)tolower((unsigned char)*name);
        word[length] = '\0';
        if (vs_starts(word, "sxm"))
            word[3] = '\0';
        if (length > 0 && !is_filler(word))
            words->count++;
    }
}

/* Words of `title` beyond those of `name`; -1 when one of the name's is not among them. */
static int words_beyond(const struct words *name, const struct words *title) {
    for (size_t i = 0; i < name->count; i++) {
        bool found = false;
        for (size_t k = 0; k < title->count && !found; k++)
            found = vs_streq(name->at[i], title->at[k]);
        if (!found)
            return -1;
    }
    return title->count >= name->count ? (int)(title->count - name->count) : 0;
}

static bool numbers_fit(const struct vs_samples_gpu *gpu, const struct vs_device *device) {
    if (gpu->sms > 0 && gpu->sms != device->compute.sms.value)
        return false;
    return !(gpu->memory_bytes > 0) ||
           fabs(gpu->memory_bytes / device->memory.nominal_bytes.value - 1) <= MEMORY_TOLERANCE;
}

static bool load(struct vs_calib *b, const char *name, const struct vs_machine **machine,
                 struct vs_err *err) {
    return vs_machine_load(b->arena, &(struct vs_machine_request){.hw = name}, machine, err);
}

static bool find_by_name(struct vs_calib *b, const struct vs_machine **machine,
                         struct vs_err *err) {
    const struct vs_samples_gpu *gpu = &b->samples->gpu;
    const char *const *names;
    struct words wanted, title;
    size_t count;
    int least = WORDS_MOST + 1;
    split_name(gpu->name, &wanted);
    if (wanted.count == 0)
        return true;
    if (!vs_data_list(b->arena, "hwprofiles/devices", &names, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct vs_machine *m;
        if (!load(b, names[i], &m, err))
            return false;
        split_name(m->devices[0]->title, &title);
        int beyond = words_beyond(&wanted, &title);
        if (beyond < 0 || beyond >= least || m->unified || !numbers_fit(gpu, m->devices[0]))
            continue;
        least = beyond;
        *machine = m;
    }
    return true;
}

static const char *stand_in(const struct vs_samples_gpu *gpu) {
    static const struct {
        int capability;
        const char *word, *profile;
    } TABLE[] = {
#define X(capability, word, profile) {capability, word, profile},
#include "calib/generation.def"
#undef X
    };
    int capability = (int)lround(10 * gpu->compute_capability);
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        if (TABLE[i].capability == capability && strstr(gpu->name, TABLE[i].word))
            return TABLE[i].profile;
    return NULL;
}

/* Rates of computing go with multiprocessors and clock. */
static bool scale_numbers(struct vs_calib *b, const struct vs_machine *m, struct vs_err *err) {
    const struct vs_samples_gpu *gpu = &b->samples->gpu;
    const struct vs_device *d = m->devices[0];
    double by = gpu->sms * gpu->clock_hz / (d->compute.sms.value * d->compute.clock_hz.value);
    const char *how = vs_arena_printf(b->arena, "%s, by multiprocessors x clock", d->name);
    static const char NAMED[] = "as CUDA names it";
    for (size_t i = 0; i < vs_device_field_count; i++) {
        const struct vs_field *field = &vs_device_fields[i];
        const struct vs_num *n =
            (const struct vs_num *)(const void *)((const char *)d + field->offset);
        size_t length = strlen(field->path);
        if (!vs_num_known(*n) || length < 6 || strcmp(field->path + length - 6, "_flops") != 0)
            continue;
        const char *path = vs_arena_printf(b->arena, "device.%s", field->path);
        if (!path || !vs_calib_fact(b, path, by * n->value, how, err))
            return path ? false : vs_err_nomem(err);
    }
    return vs_calib_fact(b, "device.memory.nominal_bytes",
                         ceil(gpu->memory_bytes / (double)VS_GIB) * (double)VS_GIB,
                         "memory that CUDA names, up to whole GiB", err) &&
           vs_calib_fact(b, "device.memory.usable_bytes", gpu->memory_bytes, NAMED, err) &&
           vs_calib_fact(b, "device.compute.sms", gpu->sms, NAMED, err) &&
           vs_calib_fact(b, "device.compute.clock_hz", gpu->clock_hz, NAMED, err);
}

static bool load_asked(struct vs_calib *b, const struct vs_machine **machine, struct vs_err *err) {
    const struct vs_samples_gpu *gpu = &b->samples->gpu;
    const struct vs_machine *m;
    char found[VS_UNIT_TEXT], expected[VS_UNIT_TEXT];
    if (!load(b, b->hw, &m, err))
        return false;
    if (m->device_count != 1 || m->unified)
        return vs_err_set(err, VS_ERR_INPUT,
                          "--hw %.100s: expected one device with memory of its own", b->hw);
    const struct vs_device *d = m->devices[0];
    *machine = m;
    if (numbers_fit(gpu, d))
        return true;
    if (gpu->sms > 0 && gpu->sms != d->compute.sms.value)
        return vs_err_at(err, b->samples->file, 0, 0,
                         "found a GPU of %g multiprocessors, expected %g as --hw %.100s has",
                         gpu->sms, d->compute.sms.value, b->hw);
    return vs_err_at(err, b->samples->file, 0, 0,
                     "found a GPU of %s, expected %s as --hw %.100s has",
                     vs_print_bytes(found, (uint64_t)gpu->memory_bytes),
                     vs_print_bytes(expected, (uint64_t)d->memory.nominal_bytes.value), b->hw);
}

bool vs_known_device(struct vs_calib *b, const struct vs_machine **machine, bool *scaled,
                     struct vs_err *err) {
    const struct vs_samples_gpu *gpu = &b->samples->gpu;
    *machine = NULL;
    *scaled = false;
    if (b->hw)
        return load_asked(b, machine, err);
    if (!gpu->name)
        return true;
    if (!find_by_name(b, machine, err))
        return false;
    if (*machine)
        return true;
    const char *profile = stand_in(gpu);
    if (!profile || !(gpu->sms > 0 && gpu->clock_hz > 0 && gpu->memory_bytes > 0))
        return true;
    *scaled = true;
    return load(b, profile, machine, err) && scale_numbers(b, *machine, err) &&
           vs_calib_note(b,
                         vs_arena_printf(b->arena,
                                         "%s has no profile: %s of its generation stands "
                                         "for what was not measured",
                                         gpu->name, profile),
                         err);
}
