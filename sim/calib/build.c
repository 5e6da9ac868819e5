#include "calib/build.h"

#include <math.h>

#include "base/units.h"

bool vs_calib_add(struct vs_calib *b, const char *path, struct vs_fitted fitted, const char *what,
                  struct vs_err *err) {
    struct vs_profile *p = b->profile;
    char percent[VS_UNIT_TEXT];
    if (!what)
        return vs_err_nomem(err);
    if (p->found_count == sizeof p->found / sizeof *p->found)
        return vs_err_set(err, VS_ERR_NOMEM, "more numbers than a profile holds");
    const char *source =
        fitted.used > 1
            ? vs_arena_printf(
                  b->arena, "%s %s: %s, %zu repetitions, %zu outliers left out, +-%s %%",
                  b->samples->program, b->samples->date, what, fitted.used, fitted.outliers,
                  vs_print_g9(percent, round(1000 * fitted.half / fitted.value) / 10))
            : vs_arena_printf(b->arena, "%s %s: %s", b->samples->program, b->samples->date, what);
    if (!source)
        return vs_err_nomem(err);
    p->found[p->found_count++] =
        (struct vs_found){.path = path, .fitted = fitted, .source = source};
    return true;
}

bool vs_calib_fact(struct vs_calib *b, const char *path, double value, const char *what,
                   struct vs_err *err) {
    return vs_calib_add(b, path, (struct vs_fitted){.value = value, .used = 1}, what, err);
}

bool vs_calib_note(struct vs_calib *b, const char *text, struct vs_err *err) {
    struct vs_profile *p = b->profile;
    if (!text)
        return vs_err_nomem(err);
    if (p->note_count < sizeof p->notes / sizeof *p->notes)
        p->notes[p->note_count++] = text;
    return true;
}

bool vs_calib_rate(const struct vs_sample *s, struct vs_fitted *rate, struct vs_err *err) {
    struct vs_fitted seconds;
    if (!vs_fit_median(s->seconds, s->count, &seconds, err))
        return false;
    *rate = seconds;
    rate->value = s->work / seconds.value;
    rate->half = rate->value * seconds.half / seconds.value;
    return true;
}

bool vs_calib_is(const struct vs_sample *s, const char *probe, const char *variant) {
    return !s->skipped && vs_streq(s->probe, probe) &&
           (!variant || (s->variant && vs_streq(s->variant, variant)));
}

static bool fastest_from(const struct vs_calib *b, const char *probe, const char *variant,
                         double bytes, const struct vs_sample **best, struct vs_fitted *rate,
                         struct vs_err *err) {
    *best = NULL;
    for (size_t i = 0; i < b->samples->count; i++) {
        const struct vs_sample *s = &b->samples->at[i];
        struct vs_fitted r;
        if (!vs_calib_is(s, probe, variant) || s->bytes < bytes)
            continue;
        if (!vs_calib_rate(s, &r, err))
            return false;
        if (*best && r.value <= rate->value)
            continue;
        *best = s;
        *rate = r;
    }
    return true;
}

bool vs_calib_fastest(const struct vs_calib *b, const char *probe, const char *variant,
                      const struct vs_sample **best, struct vs_fitted *rate, struct vs_err *err) {
    return fastest_from(b, probe, variant, 0, best, rate, err);
}

bool vs_calib_largest(const struct vs_calib *b, const char *probe, const char *variant,
                      const struct vs_sample **best, struct vs_fitted *rate, struct vs_err *err) {
    double bytes = 0;
    for (size_t i = 0; i < b->samples->count; i++)
        if (vs_calib_is(&b->samples->at[i], probe, variant))
            bytes = fmax(bytes, b->samples->at[i].bytes);
    return fastest_from(b, probe, variant, bytes, best, rate, err);
}

bool vs_calib_missing(const struct vs_calib *b, const char *probe, const char *of,
                      struct vs_err *err) {
    return vs_err_at(err, b->samples->file, 0, 0,
                     "no measurement of %s (%s), expected one: a %s needs it", probe,
                     vs_samples_skipped(b->samples, probe), of);
}
