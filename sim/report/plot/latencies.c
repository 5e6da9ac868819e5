/* How long requests of a replay waited and took: times by the share of requests that had them. */
#include <math.h>
#include <stdlib.h>

#include "report/plot/book.h"

enum { QUANTILES = 400, MARKS = 3, KINDS = 3 };
static const double MARKED[MARKS] = {0.5, 0.9, 0.99};

/* One of the times, sorted; requests that do not have it are left out. */
struct times {
    double *at;
    size_t count;
};

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double time_of(const struct vs_replayed_request *r, size_t kind) {
    return kind == 0 ? r->ttft_s : kind == 1 ? r->tpot_s : r->e2e_s;
}

static bool collect(struct vs_book *book, size_t kind, struct times *times) {
    const struct vs_replayed *replay = book->result->replay;
    *times = (struct times){VS_NEW_ARRAY(&book->arena, double, replay->request_count + 1), 0};
    for (size_t i = 0; times->at && i < replay->request_count; i++) {
        const double time = time_of(&replay->requests[i], kind);
        if (isfinite(time))
            times->at[times->count++] = time;
    }
    if (times->count > 0)
        qsort(times->at, times->count, sizeof *times->at, by_size);
    return times->at != NULL;
}

/* The least time that so large a part of the requests stays within. */
static double quantile(const struct times *times, double part) {
    if (times->count == 0)
        return (double)NAN;
    const double place = ceil(part * (double)times->count);
    const size_t i = place < 1 ? 0 : (size_t)place - 1;
    return times->at[i < times->count ? i : times->count - 1];
}

static void write(struct vs_book *book) {
    static const char *const NAMES[KINDS] = {"latencies_ttft", "latencies_tpot", "latencies_e2e"};
    struct times times[KINDS];
    size_t least = SIZE_MAX;
    if (!book->result->replay || book->result->replay->request_count == 0)
        return;
    for (size_t k = 0; k < KINDS; k++) {
        double marks[MARKS];
        if (!collect(book, k, &times[k])) {
            book->failed = true;
            return;
        }
        for (size_t m = 0; m < MARKS; m++)
            marks[m] = quantile(&times[k], MARKED[m]);
        vs_book_numbers(book, NAMES[k], marks, MARKS);
        least = times[k].count < least ? times[k].count : least;
    }
    vs_book_begin(book, "latencies", "part\tttft\ttpot\te2e");
    for (size_t q = 1; q <= QUANTILES; q++) {
        const double part = (double)q / QUANTILES;
        vs_book_number(book, part);
        for (size_t k = 0; k < KINDS; k++)
            vs_book_number(book, quantile(&times[k], part));
    }
    vs_book_value(book, "latencies", (double)least); /* requests that have each of the times */
}

const struct vs_plot_table vs_plot_table_latencies = {write};
