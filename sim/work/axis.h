/* The axes of a case: everything that a user, a workload, an engine file or a measured case can
 * say, in one table (axes.def). One parser, one validator, one help printer and one label writer
 * read it.
 *
 * A value keeps its canonical text ("4096", "every:4", "q+k+v+o") beside its parsed form, so that
 * it can be printed and compared without knowing its type. Texts live in the caller's arena. */
#ifndef VS_WORK_AXIS_H
#define VS_WORK_AXIS_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum vs_axis {
#define X(id, name, type, low, high, words, fallback, tasks, group, label, help) VS_AXIS_##id,
#include "work/axes.def"
#undef X
    VS_AXIS_COUNT
};

enum vs_axis_type {
    VS_TYPE_COUNT, /* a whole number ("8k"), or one of the words */
    VS_TYPE_BYTES, /* a size, or one of the words */
    VS_TYPE_RATE,  /* bytes per second */
    VS_TYPE_REAL,  /* a number, or one of the words */
    VS_TYPE_WORD,  /* one of the words; "every:#" takes a whole number behind the colon, "exl2:%" a
                      real one */
    VS_TYPE_WORDS, /* words joined by '+', each once */
    VS_TYPE_NAME,  /* a name or a path: resolved by whoever knows (model, engine, format, ...) */
    VS_TYPE_TEXT,  /* anything, commas included: never a list */
};

struct vs_axis_info {
    const char *name; /* without dashes: "gpu-layers" */
    enum vs_axis_type type;
    double low, high;     /* bounds of numbers */
    const char *words;    /* "none full every:#", blank-separated; "" = none */
    const char *fallback; /* the axis's own default; "" = none */
    const char *tasks;    /* letters of the tasks that it applies to: g(enerate) s(erve) t(rain) */
    const char *group;    /* "what", "shape", "strategy", "engine": headings of --help */
    const char *label; /* "none=|full=full checkpointing|every=checkpoint every #": words in labels;
                          a value that is not listed prints as "NAME VALUE"; see vs_axis_label */
    const char *help;  /* one line */
};
const struct vs_axis_info *vs_axis_info(enum vs_axis axis);
/* Is it an axis of this task ("train")? */
bool vs_axis_applies(enum vs_axis axis, const char *task);

/* By name or alias (ngl, n-cpu-moe), without leading dashes; false when unknown. */
bool vs_axis_find(const char *name, enum vs_axis *axis);

struct vs_value {
    const char *text; /* canonical; NULL = not given */
    const char *word; /* the word taken, without its number ("every"), or NULL for plain numbers */
    double number;    /* parsed number, bytes, rate; the number behind a word's colon; else 0 */
    int64_t count;    /* VS_TYPE_COUNT and whole-number parameters; bytes too (up to 2^63-1) */
};

/* Parses one value. `where` prefixes messages ("--ctx", "workloads/x.json:3:5: axes.ctx"). */
bool vs_axis_parse(struct vs_arena *arena, enum vs_axis axis, const char *text, const char *where,
                   struct vs_value *value, struct vs_err *err);

/* The words of this value in a label ("full checkpointing"); "" for a baseline value. Lives in the
 * arena. */
const char *vs_axis_label(struct vs_arena *arena, enum vs_axis axis, const struct vs_value *value);

/* Where a value came from, in order of precedence. */
enum vs_origin {
    VS_FROM_NOTHING,
    VS_FROM_AXIS,
    VS_FROM_ENGINE,
    VS_FROM_WORKLOAD,
    VS_FROM_CONFIG,
    VS_FROM_SWEEP,
    VS_FROM_USER
};

/* One point: a value per axis. Copy freely. */
struct vs_values {
    struct vs_value at[VS_AXIS_COUNT];
    uint8_t origin[VS_AXIS_COUNT]; /* enum vs_origin */
};

/* Shorthands for plans: axes are read by word. */
bool vs_is(const struct vs_values *v, enum vs_axis axis, const char *word);
bool vs_given(const struct vs_values *v, enum vs_axis axis);
int64_t vs_count(const struct vs_values *v, enum vs_axis axis); /* 0 when not given */
double vs_real(const struct vs_values *v, enum vs_axis axis);   /* 0 when not given */
bool vs_has_word(const struct vs_values *v, enum vs_axis axis,
                 const char *word); /* VS_TYPE_WORDS */

/* What a command line says: a list of values per axis (a grid), in the order given. */
struct vs_value_list {
    struct vs_value *at;
    size_t count;
};
struct vs_grid {
    struct vs_value_list lists[VS_AXIS_COUNT];
    const char *const *set_paths;
    const char *const *set_values;
    size_t set_count; /* --set PATH=VALUE */
};

#endif
