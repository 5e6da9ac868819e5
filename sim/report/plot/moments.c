/* A server over time: who runs, who waits, the KV cache, tokens per second. */
#include <math.h>

#include "report/plot/book.h"

enum { ROWS_MOST = 3000 };

/* Of a longer replay every n-th row. */
static void write(struct vs_book *book) {
    const struct vs_replayed *replay = book->result->replay;
    double people = 0, tokens = 0;
    if (!replay || replay->moment_count == 0)
        return;
    const size_t step = (replay->moment_count + ROWS_MOST - 1) / ROWS_MOST;
    vs_book_begin(book, "moments", "time\trunning\twaiting\tkv\tprompt\tout");
    for (size_t i = 0; i < replay->moment_count; i += step) {
        const struct vs_replayed_moment *m = &replay->moments[i];
        const double cells[] = {m->at_s,       m->running,    m->waiting,
                                m->kv_percent, m->prompt_tps, m->out_tps};
        for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++)
            vs_book_number(book, cells[k]);
        people = fmax(people, fmax(m->running, m->waiting));
        tokens = fmax(tokens, fmax(m->prompt_tps, m->out_tps));
    }
    vs_book_value(book, "moments", (double)replay->moment_count);
    vs_book_value(book, "moments_each", (double)step);
    vs_book_value(book, "moments_end", replay->moments[replay->moment_count - 1].at_s);
    vs_book_value(book, "moments_mean", replay->stretch_count > 0 ? replay->moments[1].at_s : 0);
    vs_book_value(book, "moments_requests", people);
    vs_book_value(book, "moments_tokens", tokens);
}

const struct vs_plot_table vs_plot_table_moments = {write};
