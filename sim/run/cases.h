/* Case files: CSV with the header id,args,metric,value,unit,tolerance,trust,group,source,notes.
 * Knows no simulator: it reads rows and drops those that no filter wants. */
#ifndef VS_RUN_CASES_H
#define VS_RUN_CASES_H

#include "base/vec.h"
#include "run/validate.h"

struct vs_cases {
    VS_VEC(struct vs_case_row)
    rows;                         /* texts in the arena, the vector on the heap; predicted is NaN */
    VS_VEC(const char *) skipped; /* files of a folder that have another header */
};

/* Reads files, and the *.csv of folders in the order of their names, and keeps the rows that pass
 * every filter. A file that is named itself and has another header is an error; in a folder it is
 * left out. An all-zero `cases` is ready; vs_cases_release frees the vectors whether or not reading
 * succeeded. */
bool vs_cases_read(struct vs_arena *arena, const struct vs_validate_options *options,
                   struct vs_cases *cases, struct vs_err *err);
void vs_cases_release(struct vs_cases *cases);

#endif
