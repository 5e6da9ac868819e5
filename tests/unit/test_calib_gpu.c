/* Samples of a GPU, and of tools, become devices and links: round numbers, checked in the head. */

#include "base/rng.h"
#include "calib_helpers.h"
#include "unit/suite.h"

#define GPU(name, capability, sms, memory)                                                         \
    ", \"gpu\": {\"name\": \"" name "\", \"count\": 1, \"memory_bytes\": " memory                  \
    ", \"free_bytes\": 20e9, \"driver\": 13000, \"runtime\": 13000, "                              \
    "\"compute_capability\": " capability ", \"sms\": " sms                                        \
    ", \"clock_hz\": 2e9, \"l2_bytes\": 72e6}"

/* How it was before and after the probes, as its driver says. */
#define WARM                                                                                       \
    ", \"gpu\": {\"name\": \"NVIDIA GeForce RTX 4090\", \"memory_bytes\": 25.2e9, \"sms\": 128, "  \
    "\"temperature_c\": 41, \"clock_now_hz\": 21e7, \"power_w\": 20, \"temperature_end_c\": 77, "  \
    "\"clock_end_hz\": 2.52e9, \"power_end_w\": 310}"

#define RTX4090 GPU("NVIDIA GeForce RTX 4090", "8.9", "128", "25.2e9")

/* A sample of a variant, over a working set of so many bytes. */
#define VARIANT(probe, variant, bytes, work, seconds)                                              \
    SAMPLE(probe, "\"variant\": \"" variant "\", \"bytes\": " bytes ", ", work, seconds)

/* Memory of 1,008 GB/s on the data sheet: reads at 907.2 are 0.9 of it, norms at 806.4 are 0.8. The
 * small read is out of a cache. */
static const char *const MEMORY[] = {
    VARIANT("cuda_memory", "read", "1e6", "1e6", "1e-7, 1e-7"),
    VARIANT("cuda_memory", "read", "1e9", "907.2e6", "1e-3, 1e-3, 1e-3, 5e-3"),
    VARIANT("cuda_memory", "copy", "1e9", "900e6", "1e-3"), NULL};
/* fp16 has 165.2 TFLOPS, tf32 82.6: products at a half. */
static const char *const WORK[] = {
    VARIANT("cuda_stream", "norm", "1e9", "806.4e6", "1e-3, 1e-3"),
    VARIANT("cuda_gemm", "fp16", "1e9", "82.6e12", "1, 1"),
    VARIANT("cuda_gemm", "bf16", "1e9", "80e12", "1, 1"),
    VARIANT("cuda_gemm", "tf32", "1e9", "41.3e12", "1, 1"),
    VARIANT("cuda_launch", "graph", "0", "1000", "2e-3, 2e-3"),
    VARIANT("cuda_managed", "fault-h2d", "1e9", "2097152e3", "0.3"),
    VARIANT("cuda_managed", "prefetch-h2d", "1e9", "2097152e3", "0.1"),
    NULL};

static const char *memory(void) { return join(MEMORY, NULL); }

START_TEST(a_known_device) {
    struct vs_profile p;
    write_document(RTX4090, join(MEMORY, WORK));
    fit_file(file, &p);
    ck_assert(p.device && !p.host && !p.link && !p.storage);
    ck_assert_str_eq(p.base->devices[0]->name, "rtx4090");
    ck_assert_double_eq_tol(value(&p, "arch.read_fraction"), 0.9, 1e-9);
    ck_assert_double_eq_tol(value(&p, "arch.stream_fraction"), 0.8, 1e-9);
    ck_assert_double_eq_tol(value(&p, "arch.gemm_fraction"), 0.5, 1e-3);
    ck_assert_double_eq_tol(value(&p, "arch.gemm_fp32_fraction"), 0.5, 1e-3);
    ck_assert_double_eq_tol(value(&p, "arch.kernel_s"), 2e-6, 1e-12);
    const struct vs_machine *m = as_machine(&p);
    const struct vs_device *d = m->devices[0];
    ck_assert_uint_eq(m->device_count, 1);
    ck_assert_double_eq(d->memory.bandwidth_bytes_per_s.value, 1008e9); /* the data sheet's */
    ck_assert_double_eq_tol(d->arch.read_fraction.value, 0.9, 1e-9);
    ck_assert_str_eq(d->arch.read_fraction.method, "measured");
    ck_assert_ptr_nonnull(strstr(d->arch.read_fraction.source, "cuda_memory read"));
    ck_assert_ptr_nonnull(strstr(d->arch.read_fraction.source, "1 outliers"));
    ck_assert_str_eq(m->link->name, "pcie4x16");
    ck_assert_double_eq(d->arch.context_bytes.value, p.base->devices[0]->arch.context_bytes.value);
}
END_TEST

/* Reads of 4 us and 907.2 GB/s, beyond the cache of 72 MB; within it they are faster, which says
 * nothing. The start goes before that of an empty kernel. */
START_TEST(reads_by_size) {
    struct vs_profile p;
    static const char *const READS[] = {
        VARIANT("cuda_memory", "read", "36288e3", "36288e3", "1e-5, 1e-5"),
        VARIANT("cuda_memory", "read", "362880e3", "362880e3", "404e-6, 404e-6"),
        VARIANT("cuda_memory", "read", "453600e3", "453600e3", "504e-6, 504e-6"),
        VARIANT("cuda_memory", "read", "1814400e3", "1814400e3", "2004e-6, 2004e-6"),
        VARIANT("cuda_launch", "graph", "0", "1000", "2e-3, 2e-3"),
        NULL};
    write_document(RTX4090, join(READS, NULL));
    fit_file(file, &p);
    ck_assert_double_eq_tol(value(&p, "arch.kernel_s"), 4e-6, 1e-9);
    ck_assert_double_eq_tol(value(&p, "arch.read_fraction"), 0.9, 1e-6);
}
END_TEST

START_TEST(says_how_warm_it_was) {
    struct vs_profile p;
    write_document(WARM, memory());
    fit_file(file, &p);
    ck_assert_uint_ge(p.note_count, 1);
    ck_assert_str_eq(p.notes[0],
                     "the device went from 41 to 77 degrees C, and ended at 2.52 GHz and 310 W");
}
END_TEST

/* 0.3 ms for a page by faults, 0.1 by prefetch: 0.2 are the driver's, times the pages at once. */
START_TEST(faults) {
    struct vs_profile p;
    write_document(RTX4090, join(MEMORY, WORK));
    fit_file(file, &p);
    double pages = vs_num_or(p.base->devices[0]->arch.managed_fault_pages, 0);
    ck_assert_double_gt(pages, 0);
    ck_assert_double_eq_tol(value(&p, "arch.managed_fault_s"), 2e-4 * pages, 1e-9);
}
END_TEST

/* Faster than its data sheet says: the sheet's number goes, and no fraction passes 1. */
START_TEST(a_device_beyond_its_sheet) {
    struct vs_profile p;
    write_document(RTX4090, VARIANT("cuda_memory", "read", "1e9", "1100e6", "1e-3, 1e-3"));
    fit_file(file, &p);
    ck_assert_double_eq_tol(value(&p, "device.memory.bandwidth_bytes_per_s"), 1100e9, 1);
    ck_assert_double_eq(value(&p, "arch.read_fraction"), 1);
}
END_TEST

/* Half the multiprocessors of a 4090 at 2 GHz; memory as measured. */
START_TEST(a_device_without_a_profile) {
    struct vs_profile p;
    write_document(GPU("NVIDIA GeForce RTX 4095", "8.9", "64", "16.5e9"), memory());
    fit_file(file, &p);
    const struct vs_device *base = p.base->devices[0];
    double by = 64 * 2e9 / (128 * base->compute.clock_hz.value);
    ck_assert_str_eq(base->name, "rtx4090");
    ck_assert_double_eq_tol(value(&p, "device.compute.fp16_flops"),
                            by * base->compute.fp16_flops.value, 1);
    ck_assert_double_eq(value(&p, "device.memory.usable_bytes"), 16.5e9);
    ck_assert_double_eq(value(&p, "device.memory.nominal_bytes"), 16 * GIB);
    ck_assert_double_eq_tol(value(&p, "device.memory.bandwidth_bytes_per_s"), 907.2e9, 1);
    ck_assert_double_eq(value(&p, "arch.read_fraction"), 1);
    ck_assert_ptr_nonnull(strstr(p.notes[0], "rtx4090 of its generation"));
    ck_assert_double_eq(as_machine(&p)->devices[0]->memory.usable_bytes.value, 16.5e9);
}
END_TEST

/* CUDA's names, and what tells one from another. */
START_TEST(names) {
    static const struct {
        const char *gpu, *device;
    } CASES[] = {{GPU("NVIDIA A100-SXM4-80GB", "8.0", "108", "85e9"), "a100-80g-sxm"},
                 {GPU("NVIDIA A100-SXM4-40GB", "8.0", "108", "42.3e9"), "a100-40g-sxm"},
                 {GPU("NVIDIA A100-PCIE-40GB", "8.0", "108", "42.3e9"), "a100-40g-pcie"},
                 {GPU("NVIDIA H100 80GB HBM3", "9.0", "132", "85e9"), "h100-sxm"},
                 {GPU("NVIDIA H100 PCIe", "9.0", "114", "85e9"), "h100-pcie"},
                 {GPU("NVIDIA H200", "9.0", "132", "150e9"), "h200-sxm"},
                 {GPU("Tesla T4", "7.5", "40", "15.8e9"), "t4"},
                 {GPU("NVIDIA L40S", "8.9", "142", "47.6e9"), "l40s"},
                 {GPU("NVIDIA RTX A6000", "8.6", "84", "50.9e9"), "rtx-a6000"},
                 {GPU("NVIDIA RTX 6000 Ada Generation", "8.9", "142", "50.9e9"), "rtx6000-ada"},
                 {GPU("NVIDIA GeForce RTX 3090", "8.6", "82", "25.4e9"), "rtx3090"},
                 {GPU("NVIDIA GeForce RTX 4060 Ti", "8.9", "34", "16.9e9"), "rtx4060ti-16g"},
                 {GPU("NVIDIA GeForce RTX 5090", "12.0", "170", "34e9"), "rtx5090"}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct vs_profile p;
        write_document(CASES[i].gpu, memory());
        fit_file(file, &p);
        ck_assert_msg(p.base && strcmp(p.base->devices[0]->name, CASES[i].device) == 0,
                      "%s: found %s", CASES[i].device, p.base ? p.base->devices[0]->name : "none");
    }
}
END_TEST

/* Copies of twelve sizes over a link of 10 us and 25 GB/s up, 20 GB/s down, with 5 % of noise and
 * every tenth three times too slow. */
static const char *copies(const char *variant, double rate, struct vs_rng *rng) {
    const char *all = "";
    for (int size = 0; size < 12; size++) {
        double bytes = 4096 * pow(4, size);
        const char *times = "";
        for (int i = 0; i < 20; i++) {
            double noise = 0;
            for (int k = 0; k < 12; k++)
                noise += vs_rng_uniform(rng);
            double t = (10e-6 + bytes / rate) * (1 + 0.05 * (noise - 6)) * (i % 10 == 3 ? 3 : 1);
            times = vs_arena_printf(&arena, "%s%s%.9g", times, i > 0 ? ", " : "", t);
        }
        all = vs_arena_printf(
            &arena,
            "%s, {\"probe\": \"cuda_host_copy\", \"variant\": \"%s\", \"bytes\": %.0f,"
            "\"work\": %.0f, \"unit\": \"bytes\", \"seconds\": [%s]}",
            all, variant, bytes, bytes, times);
    }
    return all;
}

START_TEST(a_link) {
    struct vs_profile p;
    struct vs_rng *rng = vs_rng_new(3);
    const char *up = copies("h2d-pinned", 25e9, rng), *down = copies("d2h-pinned", 20e9, rng);
    vs_rng_free(rng);
    write_document(RTX4090,
                   vs_arena_printf(&arena, "%s%s%s, %s, %s", memory(), up, down,
                                   VARIANT("cuda_host_copy", "both-pinned", "1e9", "2e9", "0.05"),
                                   VARIANT("cuda_host_copy", "h2d-pageable", "1e9", "1e9", "0.1")));
    fit_file(file, &p);
    ck_assert(p.link);
    ck_assert_double_eq_tol(value(&p, "link.h2d_bytes_per_s") / 25e9, 1, 0.03);
    ck_assert_double_eq_tol(value(&p, "link.d2h_bytes_per_s") / 20e9, 1, 0.03);
    ck_assert_double_eq_tol(value(&p, "link.latency_s") / 10e-6, 1, 0.03);
    ck_assert_double_eq_tol(value(&p, "link.duplex_bytes_per_s"), 40e9, 1);
    ck_assert_double_eq_tol(value(&p, "link.pageable_bytes_per_s"), 10e9, 1);
    const struct vs_machine *m = as_machine(&p);
    ck_assert_double_eq_tol(m->link->h2d_bytes_per_s.value / 25e9, 1, 0.03);
    ck_assert_double_eq(m->link->spec_bytes_per_s.value, p.link_base->spec_bytes_per_s.value);
    ck_assert_str_eq(p.link_base->name, "pcie4x16");
}
END_TEST

START_TEST(bad_samples) {
    fit_refused(RTX4090, "",
                "no measurement of cuda_memory (not run), expected one: a device needs it");
    fit_refused(RTX4090, "{\"probe\": \"cuda_memory\", \"skipped\": \"its result was wrong\"}",
                "cuda_memory (its result was wrong)");
    fit_refused(", \"gpu\": {\"sms\": 4}", memory(), "'name'");
    fit_refused(", \"gpu\": {\"name\": \"x\", \"sms\": \"y\"}", memory(), "$.machine.gpu.sms");
    fit_refused(", \"gpu\": {\"name\": \"x\", \"colour\": 1}", memory(), "colour");
    fit_refused(GPU("NVIDIA Riva 128", "1.0", "1", "4e6"), memory(),
                "no measurement of a host, a device");
}
END_TEST

/* Two documents: one has the host, the other one the GPU. */
START_TEST(joined) {
    struct vs_samples host, gpu;
    struct vs_profile p;
    write_document("", SAMPLE("cpu_read", "\"threads\": 4, ", "1e9", "0.025") ", " //
                   SAMPLE("cpu_gemm_q8_0", "\"threads\": 4, ", "1e9", "0.01"));
    ck_assert(vs_samples_read(&arena, file, &host, &err));
    write_document(RTX4090, memory());
    ck_assert(vs_samples_read(&arena, file, &gpu, &err));
    ck_assert(vs_samples_join(&arena, &host, &gpu, &err));
    ck_assert_uint_eq(host.count, 5);
    ck_assert_msg(vs_profile_fit(&arena, &host, "mine", NULL, &p, &err), "%s", err.text);
    ck_assert(p.host && p.device);
    const struct vs_machine *m = as_machine(&p);
    ck_assert_double_eq_tol(m->host->measured_bytes_per_s.value, 40e9, 1);
    ck_assert_double_eq_tol(m->devices[0]->arch.read_fraction.value, 0.9, 1e-9);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("calib_gpu");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_known_device);
    tcase_add_test(tests, reads_by_size);
    tcase_add_test(tests, says_how_warm_it_was);
    tcase_add_test(tests, faults);
    tcase_add_test(tests, a_device_beyond_its_sheet);
    tcase_add_test(tests, a_device_without_a_profile);
    tcase_add_test(tests, names);
    tcase_add_test(tests, a_link);
    tcase_add_test(tests, bad_samples);
    tcase_add_test(tests, joined);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
