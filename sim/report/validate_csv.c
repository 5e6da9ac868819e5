#include <math.h>

#include "base/csv.h"
#include "report/common.h"
#include "report/report.h"

static void put_number(struct vs_text *out, double number) {
    char text[VS_UNIT_TEXT] = "";
    if (isfinite(number))
        (void)vs_print_g9(text, number);
    vs_csv_put(out, text, false);
}

void vs_report_validate_csv(struct vs_text *out, const struct vs_validation *validation) {
    vs_text_add(out, "id,metric,measured,predicted,error,failure,engine,trust\n");
    for (size_t i = 0; i < validation->row_count; i++) {
        const struct vs_case_row *row = &validation->rows[i];
        vs_csv_put(out, row->id, false);
        vs_csv_put(out, row->metric, false);
        put_number(out, row->measured);
        put_number(out, row->predicted);
        put_number(out, row->error);
        vs_csv_put(out, row->failure, false);
        vs_csv_put(out, row->engine, false);
        vs_csv_put(out, row->trust, true);
    }
}
