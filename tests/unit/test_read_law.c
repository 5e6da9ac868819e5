/* What a kernel reaches of the memory by size: cost.c says start and drain, then bytes at one rate.
 * Times of one token's products with 16-bit weights of five devices against that law, with the two
 * numbers of each device that a line through its own times gives.
 *
 * Sources: casys-kaist/LLMServingSim:profiler/perf@5daddb2 (Llama-3.1-8B, kernels of vLLM 0.19),
 * and microsoft/vidur's profiles (Llama-2-7B), whose times are whole microseconds. */
#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "calib/fit.h"
#include "run/cost.h"
#include "unit/suite.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
enum { SHAPES_MOST = 5 };

struct device {
    const char *name;
    double bandwidth; /* of the data sheet */
    struct {
        double k, n, us;
    } shapes[SHAPES_MOST];
    double worst; /* error of the law on this device */
};

/* The H100's down projection takes 38 us, as its attention's does with 12 % more bytes: another
 * kernel, which the line can't follow. */
static const struct device DEVICES[] = {
    {"rtx4090",
     1008e9,
     {{4096, 6144, 54.9},
      {4096, 4096, 38.13},
      {4096, 28672, 247.29},
      {14336, 4096, 126.77},
      {4096, 128256, 1096.93}},
     0.015},
    {"rtxpro6000-bw",
     1792e9,
     {{4096, 6144, 35.83},
      {4096, 4096, 25.66},
      {4096, 28672, 159.49},
      {14336, 4096, 85.53},
      {4096, 128256, 714.01}},
     0.045},
    {"a100-80g-sxm",
     2039e9,
     {{4096, 12288, 65}, {4096, 4096, 25}, {4096, 22016, 116}, {11008, 4096, 60}},
     0.03},
    {"h100-sxm",
     3352e9,
     {{4096, 12288, 38}, {4096, 4096, 16}, {4096, 22016, 64}, {11008, 4096, 38}},
     0.13},
    {"a40",
     695.8e9,
     {{4096, 12288, 181}, {4096, 4096, 64}, {4096, 22016, 321}, {11008, 4096, 161}},
     0.015},
};

/* Seconds that cost.c gives a read of so many bytes on a device that does nothing else. */
static double law(const struct vs_rates *rates, double bytes) {
    const struct vs_op op = {.kind = VS_WORK_GEMV, .bytes = bytes, .kernels = 1};
    const struct vs_cost cost = vs_cost(rates, &op);
    ck_assert_uint_eq(cost.need_count, 1);
    ck_assert_int_eq(cost.needs[0].part, VS_PART_MEMORY);
    return cost.latency_s + cost.needs[0].amount / rates->capacity[VS_PART_MEMORY];
}

/* Errors of one device, and the two numbers. */
static size_t compare(const struct device *d, double *errors, double *start, double *fraction) {
    double bytes[SHAPES_MOST], seconds[SHAPES_MOST];
    struct vs_fitted latency, rate;
    struct vs_err err;
    size_t n = 0;
    for (; n < SHAPES_MOST && d->shapes[n].us > 0; n++) {
        bytes[n] = 2 * d->shapes[n].k * d->shapes[n].n;
        seconds[n] = 1e-6 * d->shapes[n].us;
    }
    ck_assert_msg(vs_fit_line(bytes, seconds, n, &latency, &rate, &err), "%s", err.text);
    struct vs_rates rates = {.kernel_s = latency.value};
    rates.capacity[VS_PART_MEMORY] = d->bandwidth;
    rates.capacity[VS_PART_COMPUTE] = rates.gemm[VS_CLASS_FLOAT] = 1;
    rates.read_fraction[VS_CLASS_FLOAT] = rate.value / d->bandwidth;
    for (size_t i = 0; i < n; i++)
        errors[i] = fabs(law(&rates, bytes[i]) / seconds[i] - 1);
    *start = latency.value;
    *fraction = rate.value / d->bandwidth;
    return n;
}

START_TEST(reads_by_size) {
    double all[COUNT_OF(DEVICES) * SHAPES_MOST];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(DEVICES); i++) {
        const struct device *d = &DEVICES[i];
        double start, fraction;
        size_t n = compare(d, &all[count], &start, &fraction);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg(all[count + k] < d->worst, "%s, %g us: %.1f %%", d->name, d->shapes[k].us,
                          100 * all[count + k]);
        ck_assert_msg(start > 1e-6 && start < 8e-6, "%s: %g us", d->name, 1e6 * start);
        ck_assert_msg(fraction > 0.78 && fraction < 0.96, "%s: %g", d->name, fraction);
        count += n;
    }
    ck_assert_double_lt(vs_quantile(all, count, 0.5), 0.01);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("read_law");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, reads_by_size);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
