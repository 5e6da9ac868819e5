/* What a page shows of served requests: their times, and the server over time. */
#include <math.h>

#include "report/latencies.h"
#include "report/page.h"

enum { QUANTILES = 200 };

static bool put_latencies(struct vs_json_writer *w, const struct vs_replayed *replay) {
    static const char *const NAMES[VS_LATENCY_KINDS] = {
        "time to the first token", "time between tokens", "time to the last token"};
    bool done = true;
    vs_json_key(w, "latencies");
    vs_json_array(w);
    for (size_t k = 0; done && k < VS_LATENCY_KINDS; k++) {
        struct vs_distribution times;
        done = vs_latencies_collect(replay, k, &times);
        if (done && times.count > 1) {
            vs_json_object(w);
            vs_json_member_string(w, "name", NAMES[k]);
            vs_json_key(w, "quantiles"); /* at 0, 1 / QUANTILES, ..., 1 */
            vs_json_array(w);
            for (int q = 0; q <= QUANTILES; q++)
                vs_json_number(w, vs_distribution_quantile(&times, (double)q / QUANTILES));
            vs_json_end(w, ']');
            vs_json_end(w, '}');
        }
        vs_distribution_release(&times);
    }
    vs_json_end(w, ']');
    return done;
}

static void put_moments(struct vs_json_writer *w, const struct vs_replayed *replay) {
    vs_json_key(w, "moments");
    vs_json_array(w);
    for (size_t i = 0; i < replay->moment_count; i++) {
        const struct vs_replayed_moment *m = &replay->moments[i];
        const double cells[] = {m->at_s,       m->running,    m->waiting,
                                m->kv_percent, m->prompt_tps, m->out_tps};
        vs_json_array(w);
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            vs_json_number(w, cells[k]);
        vs_json_end(w, ']');
    }
    vs_json_end(w, ']');
}

bool vs_report_page_served(struct vs_json_writer *w, const struct vs_replayed *replay) {
    vs_json_key(w, "served");
    if (!replay) {
        vs_json_null(w);
        return true;
    }
    vs_json_object(w);
    bool done = put_latencies(w, replay);
    put_moments(w, replay);
    vs_json_end(w, '}');
    return done;
}
