/* Measured cases become a profile: cases that the simulator itself made from a machine whose
 * numbers are known, with noise and outliers; what is refused. */

#include "base/rng.h"
#include "calib/cases.h"
#include "calib_helpers.h"
#include "unit/suite.h"

enum { REPEATS = 40 };
#define HEADER "id,args,metric,value,unit,tolerance,trust,group,source,notes\n"
#define LLAMA "--hw rtx4090 --task generate --engine llamacpp --model llama-3-8b "

/* Runs that ask for the GPU's memory, for its arithmetic, and for the host's memory. */
static const char *const DECODE[] = {LLAMA "--weights q4_k_m --gpu-layers all --prompt 0 --gen 16",
                                     LLAMA "--weights q8_0 --gpu-layers all --prompt 0 --gen 16",
                                     LLAMA "--weights q6_k --gpu-layers all --prompt 0 --gen 16",
                                     LLAMA "--weights fp16 --gpu-layers all --prompt 0 --gen 16",
                                     LLAMA "--weights q5_k_m --gpu-layers all --prompt 0 --gen 16"};
static const char *const PREFILL[] = {
    LLAMA "--weights q4_k_m --gpu-layers all --prompt 2048 --gen 1",
    LLAMA "--weights q8_0 --gpu-layers all --prompt 1024 --gen 1",
    LLAMA "--weights q6_k --gpu-layers all --prompt 4096 --gen 1",
    LLAMA "--weights fp16 --gpu-layers all --prompt 1024 --gen 1"};
static const char *const HOST[] = {LLAMA "--weights q4_k_m --gpu-layers 4 --prompt 0 --gen 16",
                                   LLAMA "--weights q8_0 --gpu-layers 8 --prompt 0 --gen 16",
                                   LLAMA "--weights q6_k --gpu-layers 8 --prompt 0 --gen 16",
                                   LLAMA "--weights fp16 --gpu-layers 4 --prompt 0 --gen 16"};

static const char *const BANDWIDTH = "device.memory.bandwidth_bytes_per_s";
static const char *const WORK_PER_WATT = "arch.flops_per_watt";
static const char *const HOST_BANDWIDTH = "host.bandwidth_bytes_per_s";

static struct vs_text text;
static size_t rows;

static void add_rows(const char *const *args, size_t count, const char *metric) {
    for (size_t i = 0; i < count; i++, rows++)
        vs_text_printf(&text, "c%zu,%s,%s,1,tok/s,0,high,g,s,\n", rows, args[i], metric);
}

static void write_text(const char *content) {
    ck_assert(vs_file_write(file, content, strlen(content), &err));
}

static double noise(struct vs_rng *rng) {
    double sum = 0;
    for (int k = 0; k < 12; k++)
        sum += vs_rng_uniform(rng);
    return sum - 6;
}

/* Makes `file` of what the rows in `text` give on a machine with other numbers, each measured
 * REPEATS times with noise; every `outliers`th is two times too fast. */
static void measure(const char *const *paths, const char *const *values, size_t sets, double sigma,
                    size_t outliers) {
    const struct vs_validation *v;
    const char *path = file;
    struct vs_text out = {0};
    struct vs_rng *rng = vs_rng_new(11);
    write_text(vs_text_str(&text));
    const struct vs_validate_options options = {.paths = &path,
                                                .path_count = 1,
                                                .set_paths = paths,
                                                .set_values = values,
                                                .set_count = sets};
    ck_assert_msg(vs_validate_run(&arena, &options, &v, &err), "%s", err.text);
    vs_text_add(&out, HEADER);
    for (size_t i = 0; i < v->row_count; i++) {
        const struct vs_case_row *row = &v->rows[i];
        ck_assert_msg(!row->failure && row->predicted > 0, "%s: %s", row->id,
                      row->failure ? row->failure : "OOM");
        for (size_t k = 0; k < REPEATS; k++) {
            bool wild = outliers > 0 && (i * REPEATS + k) % outliers == 3;
            vs_text_printf(&out, "%s-%zu,%s,%s,%.9g,tok/s,0,high,g,s,\n", row->id, k, row->args,
                           row->metric, row->predicted * (1 + sigma * noise(rng)) * (wild ? 2 : 1));
        }
    }
    write_text(vs_text_str(&out));
    vs_text_release(&out);
    vs_rng_free(rng);
}

static void begin_cases(void) {
    begin();
    rows = 0;
    text = (struct vs_text){0};
    vs_text_add(&text, HEADER);
}

static void end_cases(void) {
    vs_text_release(&text);
    end();
}

static struct vs_case_fit fit(void) {
    static const struct vs_case_fit_options OPTIONS = {.path = file, .name = "mine"};
    struct vs_case_fit f;
    ck_assert_msg(vs_cases_fit(&arena, &OPTIONS, &f, &err), "%s", err.text);
    return f;
}

static const struct vs_case_number *number(const struct vs_case_fit *f, const char *path) {
    for (size_t i = 0; i < f->count; i++)
        if (vs_streq(f->numbers[i].path, path))
            return &f->numbers[i];
    ck_abort_msg("no number %s", path);
    return NULL;
}

static void is_within(const struct vs_case_fit *f, const char *path, double truth, double part) {
    double is = number(f, path)->value;
    ck_assert_msg(fabs(is / truth - 1) < part, "%s: %g, not %g: %.2f %%", path, is, truth,
                  100 * (is / truth - 1));
}

/* The profile as written predicts what the fit said that it would. */
static void predicts_the_same(const struct vs_case_fit *f) {
    const char *profile = vs_arena_printf(&arena, "%s.json", file), *path = file;
    const struct vs_validate_options options = {.paths = &path, .path_count = 1};
    const struct vs_validation *v;
    struct vs_text machine = {0}, cases = {0};
    vs_profile_write(&machine, &f->profile);
    vs_text_add(&cases, HEADER);
    for (size_t i = 0; i < f->row_count; i++)
        vs_text_printf(&cases, "%s,--hw %s %s,%s,1,tok/s,0,high,g,s,\n", f->rows[i].id, profile,
                       f->rows[i].args + strlen("--hw rtx4090 "), f->rows[i].metric);
    ck_assert(vs_file_write(profile, vs_text_str(&machine), machine.length, &err));
    write_text(vs_text_str(&cases));
    ck_assert_msg(vs_validate_run(&arena, &options, &v, &err), "%s", err.text);
    for (size_t i = 0; i < f->row_count; i++)
        ck_assert_msg(fabs(log(v->rows[i].predicted) - f->fit.after[i]) < 1e-6, "%s: %g, not %g",
                      v->rows[i].id, v->rows[i].predicted, exp(f->fit.after[i]));
    (void)unlink(profile);
    vs_text_release(&machine);
    vs_text_release(&cases);
}

/* A card at 85 % of its sheet's bandwidth and 80 % of the usual work per watt, in a host at 120 %
 * of its profile's bandwidth. */
static void recover(double sigma, size_t outliers, double part) {
    static const char *const PATHS[] = {"device.memory.bandwidth", "arch.flops_per_watt",
                                        "host.bandwidth"};
    const struct vs_machine *m = load_hw("rtx4090");
    const struct vs_device *d = m->devices[0];
    const double bandwidth = 0.85 * d->memory.bandwidth_bytes_per_s.value;
    const double per_watt = 0.8 * d->arch.flops_per_watt.value;
    const double host = 1.2 * m->host->bandwidth_bytes_per_s.value;
    const char *values[] = {vs_arena_printf(&arena, "%.9gB/s", bandwidth),
                            vs_arena_printf(&arena, "%.9g", per_watt),
                            vs_arena_printf(&arena, "%.9gB/s", host)};
    ck_assert(!vs_num_known(m->host->measured_bytes_per_s));
    add_rows(DECODE, COUNT_OF(DECODE), "decode_tps");
    add_rows(PREFILL, COUNT_OF(PREFILL), "prefill_tps");
    add_rows(HOST, COUNT_OF(HOST), "decode_tps");
    measure(PATHS, values, COUNT_OF(PATHS), sigma, outliers);
    struct vs_case_fit f = fit();
    is_within(&f, BANDWIDTH, bandwidth, part);
    is_within(&f, WORK_PER_WATT, per_watt, part);
    is_within(&f, HOST_BANDWIDTH, host, part);
    const struct vs_machine *mine = as_machine(&f.profile);
    ck_assert_double_eq_tol(mine->devices[0]->memory.bandwidth_bytes_per_s.value,
                            number(&f, BANDWIDTH)->value, 1e3);
    ck_assert_str_eq(mine->devices[0]->memory.bandwidth_bytes_per_s.method, "measured");
    ck_assert_str_eq(mine->devices[0]->arch.name, d->arch.name);
    ck_assert_double_eq(mine->link->h2d_bytes_per_s.value, m->link->h2d_bytes_per_s.value);
    ck_assert_double_eq(mine->host->cores.value, m->host->cores.value);
    ck_assert_double_lt(f.median_after, f.median_before);
    predicts_the_same(&f);
}

START_TEST(with_noise) { recover(0.05, 0, 0.02); }
END_TEST

START_TEST(with_outliers) { recover(0.05, 10, 0.03); }
END_TEST

/* Decoding on the GPU alone says nothing of the host, the link, or arithmetic. */
START_TEST(one_number) {
    static const char *const PATHS[] = {"device.memory.bandwidth"}, *const VALUES[] = {"900GB/s"};
    add_rows(DECODE, COUNT_OF(DECODE), "decode_tps");
    measure(PATHS, VALUES, 1, 0.01, 0);
    struct vs_case_fit f = fit();
    is_within(&f, BANDWIDTH, 900e9, 0.01);
    for (size_t i = 0; i < f.count; i++) {
        bool it = vs_streq(f.numbers[i].path, BANDWIDTH);
        ck_assert_msg(it == (f.fit.numbers[i].verdict == VS_CARRIED), "%s", f.numbers[i].path);
        ck_assert(it || f.numbers[i].value == f.numbers[i].prior.value);
    }
    ck_assert_uint_eq(f.profile.found_count, 1);
    ck_assert_ptr_nonnull(strstr(f.profile.found[0].source, "before: 1008 GB/s (reported)"));
}
END_TEST

static void refused(const char *content, const char *message) {
    static const struct vs_case_fit_options OPTIONS = {.path = file, .name = "mine"};
    struct vs_case_fit f;
    err = (struct vs_err){0};
    write_text(content);
    ck_assert_msg(!vs_cases_fit(&arena, &OPTIONS, &f, &err), "taken: %s", content);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message), "'%s' lacks '%s'", err.text, message);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}

#define ROW(id, args, metric, value, trust)                                                        \
    id "," args "," metric "," value ",tok/s,0," trust ",g,s,\n"
#define RUN "--task generate --engine llamacpp --model llama-3-8b --weights q4_k_m"

START_TEST(refusals) {
    refused("a,b\n1,2\n", "not a case file");
    refused(HEADER, "found no case");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "fast", "high"), "value 'fast'");
    refused(HEADER ROW("a", RUN, "decode_tps", "1", "high"), "case 'a': expected --hw");
    refused(HEADER ROW("a", "--hw rtx4090 --nix 3", "decode_tps", "1", "high"), "--nix");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "1", "high")
                ROW("b", "--hw rtx3090 " RUN, "decode_tps", "1", "high"),
            "case 'b' is of --hw rtx3090, case 'a' in line 2 of --hw rtx4090");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "1", "high")
                ROW("b", "--hw rtx4090 --ram 96GiB " RUN, "decode_tps", "1", "high"),
            "of --ram (none)");
    refused(HEADER ROW("a", "--hw rtx4090+rtx3090 " RUN, "decode_tps", "1", "high"),
            "unequal devices");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "100", "high")
                ROW("b", "--hw rtx4090 --set device.memory.bandwidth=300GB/s " RUN, "decode_tps",
                    "100", "high"),
            "case 'b': found --set");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "6", "high")
                ROW("b", "--hw rtx4090 " RUN, "decode_tps", "6", "high")
                    ROW("c", "--hw rtx4090 " RUN, "decode_tps", "6", "high"),
            "no fit passes near a row");
    refused(HEADER ROW("a", "--hw rtx4090 " RUN, "decode_tps", "100", "low")
                ROW("b", "--hw rtx4090 " RUN, "fits", "1", "high")
                    ROW("c", "--hw rtx4090 " RUN, "train_tps", "1", "high"),
            "(1 of low trust, 1 OOM points or yes or no, 1 without a prediction)");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("calib_cases");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, begin_cases, end_cases);
    tcase_add_test(tests, with_noise);
    tcase_add_test(tests, with_outliers);
    tcase_add_test(tests, one_number);
    tcase_add_test(tests, refusals);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
