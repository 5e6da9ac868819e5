/* Scripts of plots: what stands in their heads, and the text that gnuplot gets. */
#ifndef VS_REPORT_PLOT_SCRIPT_H
#define VS_REPORT_PLOT_SCRIPT_H

#include "base/err.h"
#include "report/plot/book.h"

struct vs_script {
    const char *name; /* "strategies" */
    const char *file; /* for messages */
    char *text;
    size_t length;
    const char *results; /* blank-separated; so are tables */
    const char *tables;
    const char *needs; /* "hardware >= 2 and bars_fit >= 1"; "" = nothing */
};

/* Reads one; everything lives in the arena. VS_ERR_INPUT with file and line for a head that says
 * something else, or not which results and tables. */
bool vs_script_load(struct vs_arena *arena, const char *name, const char *file,
                    struct vs_script *script, struct vs_err *err);

/* Whether a result is one of the script's, has its tables, and what it needs holds; a value that
 * the result does not have holds nothing. */
bool vs_script_applies(struct vs_arena *arena, const struct vs_script *script,
                       const struct vs_book *book, bool *applies, struct vs_err *err);

/* The script behind the values of the book. `forms`: "svg png pdf". */
void vs_script_write(const struct vs_script *script, const struct vs_book *book, const char *forms,
                     struct vs_text *out);

#endif
