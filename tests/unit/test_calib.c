/* Fits find what samples were made of; samples become a profile that --hw takes. */

#include "base/rng.h"
#include "calib_helpers.h"
#include "unit/suite.h"

enum { POINTS = 240 };

/* ---- fits: synthetic samples with known truth ---- */

static double noisy(struct vs_rng *rng, double value, double noise) {
    double sum = 0; /* twelve uniform numbers: nearly normal, of deviation 1 */
    for (int i = 0; i < 12; i++)
        sum += vs_rng_uniform(rng);
    return value * (1 + noise * (sum - 6));
}

/* Every tenth is three times too slow. */
static double spoiled(size_t i, double seconds, bool outliers) {
    return outliers && i % 10 == 3 ? 3 * seconds : seconds;
}

static void line_finds(bool outliers, double within) {
    const double latency = 20e-6, rate = 12e9;
    double amount[POINTS], seconds[POINTS];
    struct vs_rng *rng = vs_rng_new(7);
    struct vs_fitted found_latency, found_rate;
    for (size_t i = 0; i < POINTS; i++) {
        amount[i] = 4096 * pow(2, (double)(i % 12));
        seconds[i] = spoiled(i, noisy(rng, latency + amount[i] / rate, 0.05), outliers);
    }
    vs_rng_free(rng);
    ck_assert(vs_fit_line(amount, seconds, POINTS, &found_latency, &found_rate, &err));
    ck_assert_double_eq_tol(found_latency.value / latency, 1, within);
    ck_assert_double_eq_tol(found_rate.value / rate, 1, within);
    ck_assert_uint_ge(found_rate.outliers, outliers ? POINTS / 10 : 0);
    ck_assert_uint_le(found_rate.outliers, outliers ? POINTS / 8 : POINTS / 50);
    ck_assert_double_gt(found_rate.half, 0);
}

START_TEST(a_line) {
    line_finds(false, 0.02);
    line_finds(true, 0.03);
}
END_TEST

START_TEST(a_median) {
    const double x[] = {10, 11, 9, 10, 500, 10.5, 9.5};
    struct vs_fitted found;
    ck_assert(vs_fit_median(x, 7, &found, &err));
    ck_assert_double_eq(found.value, 10);
    ck_assert_uint_eq(found.outliers, 1);
    ck_assert_uint_eq(found.used, 6);
    ck_assert_double_gt(found.half, 0);
    ck_assert(vs_fit_median(x, 1, &found, &err));
    ck_assert_double_eq(found.half, 0);
}
END_TEST

START_TEST(what_cannot_be_fitted) {
    const double same[] = {8, 8, 8}, amount[] = {1, 2, 3}, falling[] = {3, 2, 1};
    struct vs_fitted a, b;
    ck_assert(!vs_fit_line(amount, amount, 2, &a, &b, &err));
    ck_assert(!vs_fit_line(same, amount, 3, &a, &b, &err));
    ck_assert(!vs_fit_line(amount, falling, 3, &a, &b, &err));
}
END_TEST

/* ---- samples to a profile ---- */

static void write_samples(const char *samples) { write_document("", samples); }

static const char *const HOST[] = {
    SAMPLE("cpu_read", "\"threads\": 1, ", "1e9", "0.1, 0.1, 0.1"),
    SAMPLE("cpu_read", "\"threads\": 4, ", "1e9", "0.025, 0.025, 0.025, 0.2"),
    SAMPLE("cpu_copy", "\"threads\": 4, ", "1e9", "0.02, 0.02"),
    SAMPLE("cpu_gemm_q8_0", "\"threads\": 4, ", "1e9", "0.01, 0.01"), NULL};
static const char *const STORAGE[] = {
    SAMPLE("storage_random", "\"block_bytes\": 4e3, \"depth\": 1, ", "4e3", "102e-6, 102e-6"),
    SAMPLE("storage_sequential", "\"block_bytes\": 1e6, \"depth\": 1, ", "4e6", "24e-4, 24e-4"),
    SAMPLE("storage_sequential", "\"block_bytes\": 8e6, \"depth\": 1, ", "8e6", "41e-4, 41e-4"),
    SAMPLE("storage_write", "", "1e9", "1"), NULL};
static const char *const NO_STORAGE[] = {
    "{\"probe\": \"storage_sequential\", \"skipped\": \"read-only\"}", NULL};

static void write_lists(const char *const *first, const char *const *second) {
    write_samples(join(first, second));
}

static void fit(struct vs_profile *profile) { fit_file(file, profile); }

/* Reading takes 25 ms of 1 GB at best: 40 GB/s; copying shows that memory does 50. 100 GFLOPS of
 * four cores. Storage: 0.1 ms and 2 GB/s. */
START_TEST(a_host_and_its_storage) {
    struct vs_profile p;
    write_lists(HOST, STORAGE);
    fit(&p);
    ck_assert_double_eq_tol(value(&p, "host.bandwidth_bytes_per_s"), 50e9, 1);
    ck_assert_double_eq_tol(value(&p, "host.measured_bytes_per_s"), 40e9, 1);
    ck_assert_double_eq_tol(value(&p, "host.read_fraction"), 0.8, 1e-9);
    ck_assert_double_eq_tol(value(&p, "host.flops_per_core"), 25e9, 1);
    ck_assert_double_eq_tol(value(&p, "host.reserved_bytes"), 4e9, 1);
    ck_assert_double_eq_tol(value(&p, "storage.latency_s"), 1e-4, 1e-8);
    ck_assert_double_eq_tol(value(&p, "storage.read_bytes_per_s"), 8e6 / 0.0041, 1);
    const struct vs_machine *m = as_machine(&p);
    ck_assert_uint_eq(m->device_count, 0);
    ck_assert_double_eq_tol(m->host->measured_bytes_per_s.value, 40e9, 1);
    ck_assert_str_eq(m->host->measured_bytes_per_s.method, "measured");
    ck_assert_ptr_nonnull(strstr(m->host->measured_bytes_per_s.source, "1 outliers"));
    ck_assert_double_eq_tol(m->storage->latency_s.value, 1e-4, 1e-8);
}
END_TEST

/* What could not be measured is named, and another drive stands for it. */
START_TEST(without_storage) {
    struct vs_profile p;
    struct vs_text text = {0};
    write_lists(HOST, NO_STORAGE);
    fit(&p);
    ck_assert(!p.storage);
    ck_assert_str_eq(p.notes[0], "storage not measured (read-only): nvme-gen4 stands for it");
    vs_profile_write(&text, &p);
    ck_assert_ptr_nonnull(strstr(vs_text_str(&text), "\"storage\": \"nvme-gen4\""));
    vs_text_release(&text);
}
END_TEST

START_TEST(bad_samples) {
    fit_refused("", "", "no measurement of cpu_read (not run)");
    fit_refused("", "{\"probe\": \"cpu_read\", \"skipped\": \"no memory\"}",
                "cpu_read (no memory)");
    fit_refused("", "{\"probe\": \"cpu_read\"}", "'work'");
    fit_refused("", "7", "$.samples[0]");
    fit_refused("", SAMPLE("cpu_read", "", "1e9", ""), "found no repetition");
    fit_refused("", SAMPLE("cpu_read", "", "1e9", "0"), "expected seconds above 0");
    fit_refused("", SAMPLE("cpu_read", "", "1e9", "\"x\""), "expected seconds above 0");
    fit_refused("", SAMPLE("cpu_read", "", "-1", "1"), "$.samples[0].work");
    fit_refused("", SAMPLE("cpu_read", "\"colour\": 1, ", "1", "1"), "colour");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("calib");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_line);
    tcase_add_test(tests, a_median);
    tcase_add_test(tests, what_cannot_be_fitted);
    tcase_add_test(tests, a_host_and_its_storage);
    tcase_add_test(tests, without_storage);
    tcase_add_test(tests, bad_samples);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
