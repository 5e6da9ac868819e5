#include "model/format.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "model/gguf_mix.h"
#include "model/types.h"

static const struct vs_format formats[] = {
#define VS_FORMAT(name, kind, base, mix, label)                                                    \
    {name, VS_FORMAT_##kind, &vs_types[VS_TYPE_##base], 0.0, 0, label, VS_MIX_##mix},
#include "model/formats.def"
#undef VS_FORMAT
};

static const char *const format_names[] = {
#define VS_FORMAT(name, kind, base, mix, label) name,
#include "model/formats.def"
#undef VS_FORMAT
};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const char *const *vs_format_names(size_t *count) {
    *count = FORMAT_COUNT;
    return format_names;
}

bool vs_format_is_quantized(const struct vs_format *format) {
    return format->base->class_of != VS_CLASS_FLOAT;
}

/* The GGUF type whose bits are nearest: it tells the cost laws what kind of kernel reads such a
 * file. */
static const struct vs_type *nearest_gguf_type(double bpw) {
    static const enum vs_type_id usual[] = {
        VS_TYPE_IQ1_S, VS_TYPE_IQ2_XS, VS_TYPE_Q2_K, VS_TYPE_Q3_K, VS_TYPE_Q4_K,
        VS_TYPE_Q5_K,  VS_TYPE_Q6_K,   VS_TYPE_Q8_0, VS_TYPE_FP16,
    };
    const struct vs_type *best = NULL;
    double best_off = 0;

    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        const struct vs_type *type = &vs_types[usual[i]];
        const double off = type->bits > bpw ? type->bits - bpw : bpw - type->bits;
        if (!best || off < best_off) {
            best = type;
            best_off = off;
        }
    }
    return best;
}

/* "exl2:4.5" and "gguf:3.07". */
static bool parse_bpw(const char *text, const char *number, bool exl2, struct vs_format *format,
                      struct vs_err *err) {
    const double low = exl2 ? 2 : 1, high = exl2 ? 8 : 32;
    char why[VS_WHY_SIZE];
    double bpw;

    if (!vs_parse_number(number, &bpw, why) || !(bpw >= low && bpw <= high))
        return vs_err_set(err, VS_ERR_INPUT,
                          "format '%s': expected bits per weight from %g to %g after the colon",
                          text, low, high);
    *format = (struct vs_format){
        .name = exl2 ? "exl2" : "gguf",
        .kind = exl2 ? VS_FORMAT_EXL2 : VS_FORMAT_BPW,
        .base = exl2 ? &vs_types[VS_TYPE_EXL2] : nearest_gguf_type(bpw),
        .bpw = bpw,
        .label = exl2 ? "exl2" : "gguf mix",
        .mix = VS_MIX_NONE,
    };
    return true;
}

/* "gptq4:64": the types table holds the groups that are in use. */
static bool parse_group(const char *text, struct vs_format *format, struct vs_err *err) {
    const struct vs_type *type = vs_type_find(strcmp(text, "gptq4:128") == 0 ? "gptq4" : text);

    if (!type)
        return vs_err_set(err, VS_ERR_INPUT,
                          "format '%s': expected a group of 16, 32, 64, 128, 256, 512 or 1024",
                          text);
    *format = (struct vs_format){
        .name = "gptq4",
        .kind = VS_FORMAT_GPTQ,
        .base = type,
        .group = type->group,
        .label = "gptq 4-bit",
        .mix = VS_MIX_NONE,
    };
    return true;
}

static bool unknown_format(const char *text, struct vs_err *err) {
    char lower[64], near[200];
    size_t n = 0;

    for (; text[n] && n < sizeof lower - 1; n++)
        lower[n] = text[n] >= 'A' && text[n] <= 'Z' ? (char)(text[n] - 'A' + 'a') : text[n];
    lower[n] = '\0';
    vs_nearest(lower, format_names, FORMAT_COUNT, near, sizeof near);
    return vs_err_set(err, VS_ERR_INPUT, "unknown format '%s'; nearest: %s", text, near);
}

bool vs_format_parse(const char *text, struct vs_format *format, struct vs_err *err) {
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (vs_streq(text, formats[i].name)) {
            *format = formats[i];
            return true;
        }
    }
    if (vs_starts(text, "gguf:"))
        return parse_bpw(text, text + 5, false, format, err);
    if (vs_starts(text, "exl2:"))
        return parse_bpw(text, text + 5, true, format, err);
    if (vs_starts(text, "gptq4:"))
        return parse_group(text, format, err);
    if (vs_streq(text, "exl2") || vs_streq(text, "gguf"))
        return vs_err_set(err, VS_ERR_INPUT,
                          "format '%s' needs bits per weight after a colon, as in %s:4.5", text,
                          text);
    return unknown_format(text, err);
}
