/* How long requests of a replay waited and took: times by the share of requests that had them. */
#include "report/latencies.h"

#include "report/plot/book.h"

enum { QUANTILES = 400, MARKS = 3 };
static const double MARKED[MARKS] = {0.5, 0.9, 0.99};

static void put_marks(struct vs_book *book, const char *name, struct vs_distribution *times) {
    double marks[MARKS];
    for (size_t m = 0; m < MARKS; m++)
        marks[m] = vs_distribution_quantile(times, MARKED[m]);
    vs_book_numbers(book, name, marks, MARKS);
}

static void put(struct vs_book *book, struct vs_distribution times[VS_LATENCY_KINDS]) {
    static const char *const NAMES[VS_LATENCY_KINDS] = {"latencies_ttft", "latencies_tpot",
                                                        "latencies_e2e"};
    uint64_t least = UINT64_MAX;
    for (size_t k = 0; k < VS_LATENCY_KINDS; k++) {
        put_marks(book, NAMES[k], &times[k]);
        least = times[k].count < least ? times[k].count : least;
    }
    vs_book_begin(book, "latencies", "part\tttft\ttpot\te2e");
    for (size_t q = 1; q <= QUANTILES; q++) {
        const double part = (double)q / QUANTILES;
        vs_book_number(book, part);
        for (size_t k = 0; k < VS_LATENCY_KINDS; k++)
            vs_book_number(book, vs_distribution_quantile(&times[k], part));
    }
    vs_book_value(book, "latencies", (double)least); /* requests that have each of the times */
    vs_book_value(book, "latencies_each", (double)book->result->replay->requests_each);
}

static void write(struct vs_book *book) {
    struct vs_distribution times[VS_LATENCY_KINDS] = {{.count = 0}};
    if (!book->result->replay || book->result->replay->request_count == 0)
        return;
    for (size_t k = 0; k < VS_LATENCY_KINDS; k++)
        if (!vs_latencies_collect(book->result->replay, k, &times[k]))
            book->failed = true;
    if (!book->failed)
        put(book, times);
    for (size_t k = 0; k < VS_LATENCY_KINDS; k++)
        vs_distribution_release(&times[k]);
}

const struct vs_plot_table vs_plot_table_latencies = {write};
