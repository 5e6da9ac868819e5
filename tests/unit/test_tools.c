/* The output of other tools in terms of samples: round numbers of tests/golden/calibrate-tools.in,
 * and what is refused. */

#include "base/data.h"
#include "calib_helpers.h"
#include "import/tool.h"
#include "unit/suite.h"

static struct vs_samples read_tool(const char *name) {
    struct vs_samples samples;
    const char *path =
        vs_data_path(&arena, vs_arena_printf(&arena, "tests/golden/calibrate-tools.in/%s", name));
    ck_assert_ptr_nonnull(path);
    ck_assert_msg(vs_samples_read(&arena, path, &samples, &err), "%s", err.text);
    return samples;
}

static const struct vs_sample *find(const struct vs_samples *s, const char *probe,
                                    const char *variant) {
    for (size_t i = 0; i < s->count; i++)
        if (vs_streq(s->at[i].probe, probe) &&
            (!variant || (s->at[i].variant && vs_streq(s->at[i].variant, variant))))
            return &s->at[i];
    ck_abort_msg("no sample of %s", probe);
    return NULL;
}

static double rate(const struct vs_sample *s) { return s->work / s->seconds[0]; }

/* 4 GB of weights, 100 tokens in 0.5 s: 800 GB/s. 2 x 8e9 x 512 operations in 50 ms. */
START_TEST(llama_bench) {
    struct vs_samples s = read_tool("llama-bench.json");
    ck_assert_str_eq(s.program, "llama-bench");
    ck_assert_str_eq(s.date, "2025-11-02");
    ck_assert_str_eq(s.gpu.name, "NVIDIA GeForce RTX 4090");
    ck_assert_uint_eq(s.count, 2);
    ck_assert_double_eq_tol(rate(find(&s, "llama_tg", NULL)), 800e9, 1);
    ck_assert_uint_eq(find(&s, "llama_tg", NULL)->count, 3);
    ck_assert_double_eq_tol(rate(find(&s, "llama_pp", NULL)), 163.84e12, 1e3);
}
END_TEST

START_TEST(nvbandwidth) {
    struct vs_samples s = read_tool("nvbandwidth.json");
    ck_assert_uint_eq(s.count, 3);
    ck_assert_ptr_null(s.gpu.name);
    ck_assert_double_eq(rate(find(&s, "cuda_host_copy", "h2d-pinned")), 50e9);
    ck_assert_double_eq(rate(find(&s, "cuda_host_copy", "d2h-pinned")), 52.5e9);
    ck_assert_double_eq(rate(find(&s, "cuda_host_copy", "both-pinned")), 75e9);
}
END_TEST

/* 2 x 3/4 of 400 MB in 3 ms is 200 GB/s, as the table's own busbw says; 4 MB in 60 us is 100. */
START_TEST(nccl_tests) {
    struct vs_samples s = read_tool("nccl-tests.txt");
    ck_assert_uint_eq(s.count, 2);
    ck_assert_str_eq(s.gpu.name, "NVIDIA A100-SXM4-80GB");
    ck_assert_double_eq(s.gpu.count, 4);
    ck_assert_str_eq(s.at[0].variant, "all-reduce");
    ck_assert_double_eq_tol(rate(&s.at[0]), 100e9, 1);
    ck_assert_double_eq_tol(rate(&s.at[1]), 200e9, 1);
    ck_assert_double_eq(s.at[1].devices, 4);
}
END_TEST

/* 6 GB in 2 s, 4 GB in 2 s; 10,000 requests a second of 4 KiB, one in flight. */
START_TEST(fio) {
    struct vs_samples s = read_tool("fio.json");
    ck_assert_str_eq(s.program, "fio-3.36");
    ck_assert_uint_eq(s.count, 3);
    ck_assert_double_eq(rate(find(&s, "storage_sequential", NULL)), 3e9);
    ck_assert_double_eq(rate(find(&s, "storage_write", NULL)), 2e9);
    ck_assert_double_eq(find(&s, "storage_sequential", NULL)->depth, 32);
    ck_assert_double_eq(find(&s, "storage_random", NULL)->block_bytes, 4096);
    ck_assert_double_eq(rate(find(&s, "storage_random", NULL)), 40.96e6);
}
END_TEST

/* Weights at 800 of the 4090's 1,008 GB/s; the rest of the profile is the 4090's. */
START_TEST(a_profile_of_tools) {
    struct vs_samples all = read_tool("llama-bench.json"), more = read_tool("nvbandwidth.json");
    struct vs_profile p;
    ck_assert(vs_samples_join(&arena, &all, &more, &err));
    ck_assert(vs_profile_fit(&arena, &all, "mine", NULL, &p, &err));
    const struct vs_machine *m = as_machine(&p);
    ck_assert_str_eq(all.program, "llama-bench, nvbandwidth");
    ck_assert_double_eq_tol(m->devices[0]->arch.read_fraction.value, 800.0 / 1008, 1e-6);
    ck_assert_double_eq(m->link->duplex_bytes_per_s.value, 75e9);
}
END_TEST

static struct vs_samples read_log(const char *text) {
    struct vs_samples s;
    ck_assert_msg(vs_samples_over(&arena, "v.log", text, strlen(text), &s, &err), "%s", err.text);
    return s;
}

/* The same device in the words of several releases. */
START_TEST(vllm_logs) {
    static const struct {
        const char *text;
        double total, context; /* GiB */
    } CASES[] = {
        {"[rank0]: worker.py:266] the current vLLM instance can use total_gpu_memory (24.00GiB) x "
         "gpu_memory_utilization (0.90) = 21.60GiB",
         24, 0},
        {"INFO worker.py:232] Memory profiling results: duration=3.5 seconds, "
         "total_gpu_memory=24.00GiB, initial_memory_usage=15GiB, non_torch_memory=0.50GiB, "
         "kv_cache_size=5.29GiB, gpu_memory_utilization=0.90",
         24, 0},
        {"INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     24.00GiB\r\n", 24, 0},
        {"gpu_worker.py:265] Initial free memory: 23.50 GiB; Requested memory: 0.90 (util), 21.60 "
         "GiB\nnon-torch forward increase memory: 0.25GiB; weights memory: 2.32GiB.",
         24, 0.75},
        {"vLLM\nFree memory on device cuda:0 (23.5/24.0 GiB) on startup. Actual usage is 15.0 GiB "
         "for weight, 1.2 GiB for peak activation, -0.25 GiB for non-torch memory, and 0.3 GiB for "
         "CUDAGraph memory.",
         24, 0.25},
        {"Model loading took 15.0 GiB memory and 20.3 seconds\nFree memory on device (23.5/24.0 "
         "GiB) on startup. Actual usage is 15.5 GiB for consumed memory (weights + non-torch), 1.2 "
         "GiB for peak activation.",
         24, 1},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct vs_samples s = read_log(CASES[i].text);
        ck_assert_double_eq_tol(s.gpu.memory_bytes, CASES[i].total * GIB, 1);
        ck_assert_double_eq_tol(s.gpu.context_bytes, CASES[i].context * GIB, 1);
    }
    ck_assert_str_eq(read_log("Initializing a V1 LLM engine (v0.11.0) with config: x\n"
                              "total_gpu_memory (24GiB)")
                         .program,
                     "vLLM 0.11.0");
    ck_assert_str_eq(
        read_log("total_gpu_memory (24GiB)\n/E=8,device_name=NVIDIA_L40S.json'").gpu.name,
        "NVIDIA L40S");
}
END_TEST

/* llama-bench names the device, vLLM's log its memory. */
START_TEST(tools_complete_each_other) {
    struct vs_samples all = read_log("vLLM: total_gpu_memory (23.50GiB)");
    struct vs_samples more = read_tool("llama-bench.json");
    struct vs_profile p;
    ck_assert(vs_samples_join(&arena, &all, &more, &err));
    ck_assert(vs_profile_fit(&arena, &all, "mine", NULL, &p, &err));
    const struct vs_device *d = as_machine(&p)->devices[0];
    ck_assert_double_eq(d->memory.usable_bytes.value, 23.5 * GIB);
    ck_assert_double_eq_tol(d->arch.read_fraction.value, 800.0 / 1008, 1e-6);
}
END_TEST

static void refused(const char *text, const char *message) {
    struct vs_samples s;
    err = (struct vs_err){0};
    ck_assert_msg(!vs_samples_over(&arena, "tool.txt", text, strlen(text), &s, &err), "taken: %s",
                  text);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message) && strstr(err.text, "tool.txt"), "'%s' lacks '%s'",
                  err.text, message);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}

#define LLAMA(info, samples, more)                                                                 \
    "[{\"build_commit\": \"0\", \"gpu_info\": " info ", \"model_type\": \"llama 8B\","             \
    "\"test_time\": \"2025\", \"model_size\": 1e9, \"model_n_params\": 1e9, \"n_prompt\": 0,"      \
    "\"n_gen\": 1, \"samples_ns\": " samples more "}]"

START_TEST(bad_tools) {
    refused("vLLM", "found no memory of a device");
    refused("total_gpu_memory (24.00.1GiB)", "found '24.00.1GiB)', expected GiB");
    refused("total_gpu_memory (24.00MB)", "expected GiB");
    refused("total_gpu_memory (0GiB)", "expected GiB above 0");
    refused("total_gpu_memory (1e3GiB)", "expected GiB");
    refused("total_gpu_memory (24GiB)\ntotal_gpu_memory (80GiB)", "expected equal ones");
    refused("vLLM\nFree memory on device (23.5 GiB)", "tool.txt:2:24");
    refused("vLLM\nActual usage is much for weight", "found");
    refused("", "found no samples");
    refused("hello", "llama-bench -o json, nvbandwidth -j");
    refused("[]", "found no samples");
    refused("{\"jobs\": []}", "found no samples");
    refused("{\"fio version\": \"fio-3\"}", "jobs");
    refused("{\"fio version\": \"fio-3\", \"jobs\": [7]}", "$.jobs[0]");
    refused("{\"fio version\": \"fio-3\", \"jobs\": [{\"job options\": {\"bs\": \"4q\"}}]}",
            "expected a size as text");
    refused("{\"fio version\": \"fio-3\", \"jobs\": [{\"read\": {\"io_bytes\": 1}}]}", "runtime");
    refused("{\"fio version\": \"fio-3\", \"jobs\": [", "tool.txt:1");
    refused("{\"nvbandwidth\": {}}", "testcases");
    refused("{\"nvbandwidth\": {\"testcases\": [{\"name\": \"host_to_device_memcpy_ce\","
            "\"status\": \"Passed\", \"bandwidth_matrix\": [[\"fast\"]]}]}}",
            "found 'fast', expected GB/s above 0");
    refused("{\"nvbandwidth\": {\"testcases\": [{\"name\": \"host_to_device_memcpy_ce\","
            "\"status\": \"Passed\", \"bandwidth_matrix\": [7]}]}}",
            "expected a row of rates");
    refused(LLAMA("\"x\"", "[]", ""), "found no repetition");
    refused(LLAMA("\"x\"", "[0]", ""), "expected nanoseconds above 0");
    refused(LLAMA("7", "[1]", ""), "$[0].gpu_info");
    refused("# nThread 1 nGpus 2\n# busbw\n", "found no row of a collective");
    refused("# nThread 1 nGpus 2\n# size count time busbw\n 8 2 1.0 1.0\n", "tool.txt:3");
    refused("# nThread 1 nGpus 2\n# Rank 0 \n# Rank 1 \n# size count time busbw\n 8 2 slow 1\n",
            "tool.txt:5: found no row of the table");
}
END_TEST

/* What a profile can't be made of is kept with its reason. */
START_TEST(left_out) {
    static const struct {
        const char *text, *reason;
    } CASES[] = {{LLAMA("\"\"", "[1]", ""), "no GPU took part"},
                 {LLAMA("\"x\"", "[1]", ", \"n_gpu_layers\": 20"), "fewer than 99 layers"}};
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct vs_samples s;
        ck_assert(
            vs_samples_over(&arena, "tool.txt", CASES[i].text, strlen(CASES[i].text), &s, &err));
        ck_assert_uint_eq(s.count, 1);
        ck_assert_ptr_nonnull(strstr(s.at[0].skipped, CASES[i].reason));
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tools");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, llama_bench);
    tcase_add_test(tests, nvbandwidth);
    tcase_add_test(tests, nccl_tests);
    tcase_add_test(tests, fio);
    tcase_add_test(tests, a_profile_of_tools);
    tcase_add_test(tests, vllm_logs);
    tcase_add_test(tests, tools_complete_each_other);
    tcase_add_test(tests, bad_tools);
    tcase_add_test(tests, left_out);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
