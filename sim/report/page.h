/* --html: one page that explains a result by itself: no network, no framework. */
#ifndef VS_REPORT_PAGE_H
#define VS_REPORT_PAGE_H

#include "base/err.h"
#include "base/json.h"
#include "base/text.h"
#include "report/result.h"

/* Appends the page of a sweep or a run: the template reports/html/page.html of a data folder with
 * the result's values as JSON in it, escaped so that no name can leave it. Sources of the profile
 * are listed where the points have them. VS_ERR_IO where the template is missing. */
bool vs_report_page(struct vs_text *out, const struct vs_result *result, struct vs_err *err);

/* page_served.c: the member "served": null, or quantiles and moments. False when memory runs out.
 */
bool vs_report_page_served(struct vs_json_writer *writer, const struct vs_replayed *replay);

#endif
