/* The roofline: FLOPs and bytes of each phase on each processor, and of its kinds of work, against
 * what the processor and its memory give at most. */
#include <math.h>
#include <string.h>

#include "report/plot/book.h"

enum { PROCESSORS_MOST = 8, PHASES_MOST = 16, KINDS_MOST = 32 };

/* "gpu0.compute"; 0 = not known. */
static double rate_of(const struct vs_outcome *run, const char *device, const char *part) {
    for (size_t i = 0; i < run->rate_count; i++) {
        const char *name = run->rates[i].resource;
        const size_t length = strcspn(name, ".");
        if (strlen(device) == length && strncmp(name, device, length) == 0 &&
            vs_streq(name + length + 1, part))
            return run->rates[i].per_s;
    }
    return 0;
}

static bool drawable(const struct vs_work_done *w) {
    return w->bytes > 0 && w->seconds > 0 && w->flops > 0;
}

static void put_point(struct vs_book *book, size_t device, size_t phase,
                      const struct vs_work_done *w, const char *kind) {
    if (!drawable(w))
        return;
    vs_book_number(book, (double)device + 1);
    vs_book_number(book, kind ? 2 : 1);
    vs_book_number(book, (double)phase);
    vs_book_number(book, w->flops / w->bytes);
    vs_book_number(book, w->flops / w->seconds);
    vs_book_number(book, w->seconds);
    vs_book_text(book, w->phase);
    vs_book_text(book, kind);
}

/* Each processor that did anything but load, in the order met. */
static size_t processors(const struct vs_outcome *run, const char *devices[PROCESSORS_MOST]) {
    size_t count = 0;
    for (size_t i = 0; i < run->work_count; i++) {
        size_t k = 0;
        while (k < count && !vs_streq(devices[k], run->work[i].device))
            k++;
        if (k == count && count < PROCESSORS_MOST && run->work[i].flops > 0)
            devices[count++] = run->work[i].device;
    }
    return count;
}

struct phases {
    const char *names[PHASES_MOST];
    size_t count;
};

/* "prefill on gpu0: 55.1 TFLOP/s at 312 FLOP/byte, 67 % of the roof" */
static const char *name_of(struct vs_book *book, const struct vs_work_done *w) {
    const struct vs_outcome *run = book->result->run;
    const double rate = w->flops / w->seconds, intensity = w->flops / w->bytes;
    const double roof =
        fmin(rate_of(run, w->device, "compute"), intensity * rate_of(run, w->device, "memory"));
    return vs_arena_printf(
        &book->arena, "%s on %s: %.3g TFLOP/s at %.3g FLOP/byte, %.0f %% of the roof there",
        w->phase, w->device, rate / 1e12, intensity, roof > 0 ? 100 * rate / roof : 0);
}

/* The phase as a whole, then its kinds. */
static void put_phase(struct vs_book *book, size_t device, const char *name, size_t first,
                      struct phases *phases) {
    const struct vs_outcome *run = book->result->run;
    struct vs_work_done all = {.phase = run->work[first].phase, .device = name};
    const size_t number = phases->count + 1;
    for (size_t i = first; i < run->work_count; i++) {
        const struct vs_work_done *w = &run->work[i];
        if (!vs_streq(w->phase, all.phase) || !vs_streq(w->device, name))
            continue;
        all.flops += w->flops;
        all.bytes += w->bytes;
        all.seconds += w->seconds;
        put_point(book, device, number, w, w->kind);
    }
    if (!drawable(&all) || phases->count == PHASES_MOST)
        return;
    put_point(book, device, number, &all, NULL);
    phases->names[phases->count++] = name_of(book, &all);
    book->failed = book->failed || !phases->names[phases->count - 1];
}

/* Each kind that is drawn once, for a legend. */
static void put_kinds(struct vs_book *book) {
    const struct vs_outcome *run = book->result->run;
    const char *kinds[KINDS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < run->work_count; i++) {
        size_t k = 0;
        while (k < count && !vs_streq(kinds[k], run->work[i].kind))
            k++;
        if (k == count && count < KINDS_MOST && drawable(&run->work[i]))
            kinds[count++] = run->work[i].kind;
    }
    vs_book_list(book, "work_kinds", kinds, count);
    vs_book_value(book, "work_kind_count", (double)count);
}

/* What must be in sight: every point, and the ridge of every roof. */
static void put_ranges(struct vs_book *book, const double *peaks, const double *bandwidths,
                       size_t count) {
    const struct vs_outcome *run = book->result->run;
    double left = (double)INFINITY, right = 0, lowest = (double)INFINITY, highest = 0;
    for (size_t d = 0; d < count; d++) {
        left = fmin(left, peaks[d] / bandwidths[d]);
        right = fmax(right, peaks[d] / bandwidths[d]);
        highest = fmax(highest, peaks[d]);
        lowest = fmin(lowest, peaks[d]);
    }
    for (size_t i = 0; i < run->work_count; i++) {
        const struct vs_work_done *w = &run->work[i];
        if (!drawable(w))
            continue;
        left = fmin(left, w->flops / w->bytes);
        right = fmax(right, w->flops / w->bytes);
        lowest = fmin(lowest, w->flops / w->seconds);
        highest = fmax(highest, w->flops / w->seconds);
    }
    vs_book_value(book, "work_left", left / 3);
    vs_book_value(book, "work_right", 3 * right);
    vs_book_value(book, "work_lowest", lowest / 3);
    vs_book_value(book, "work_highest", 3 * highest);
}

static bool met_before(const struct vs_outcome *run, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (vs_streq(run->work[k].phase, run->work[i].phase) &&
            vs_streq(run->work[k].device, run->work[i].device))
            return true;
    return false;
}

static void write(struct vs_book *book) {
    const struct vs_outcome *run = book->result->run;
    const char *devices[PROCESSORS_MOST];
    struct phases phases = {.count = 0};
    if (!run || run->work_count == 0)
        return;
    const size_t count = processors(run, devices);
    double peaks[PROCESSORS_MOST], bandwidths[PROCESSORS_MOST];
    vs_book_begin(book, "roofs", "device\tflops\tbytes\tname");
    for (size_t d = 0; d < count; d++) {
        peaks[d] = rate_of(run, devices[d], "compute");
        bandwidths[d] = rate_of(run, devices[d], "memory");
        vs_book_number(book, (double)d + 1);
        vs_book_number(book, peaks[d]);
        vs_book_number(book, bandwidths[d]);
        vs_book_text(book, devices[d]);
    }
    vs_book_begin(book, "work", "device\trank\tnumber\tintensity\trate\tseconds\tphase\tkind");
    for (size_t d = 0; d < count; d++)
        for (size_t i = 0; i < run->work_count; i++)
            if (vs_streq(run->work[i].device, devices[d]) && !met_before(run, i))
                put_phase(book, d, devices[d], i, &phases);
    vs_book_value(book, "work", (double)count);
    vs_book_value(book, "work_phases", (double)phases.count);
    vs_book_list(book, "work_phase_names", phases.names, phases.count);
    vs_book_numbers(book, "work_peaks", peaks, count);
    vs_book_numbers(book, "work_bandwidths", bandwidths, count);
    put_kinds(book);
    put_ranges(book, peaks, bandwidths, count);
}

const struct vs_plot_table vs_plot_table_work = {write};
