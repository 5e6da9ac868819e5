#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"
#include "calib/cases.h"
#include "calib/measure.h"
#include "calib/profile.h"
#include "cli/cli.h"
#include "hw/machine.h"
#include "report/table.h"

#define FAR 3.0 /* times the width of a number's prior: another card, clock or board than said? */
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const struct vs_cli_option OPTIONS[] = {
    {"--out", VS_CLI_TEXT, VS_CLI_AT(out_file), "FILE", "write the profile, for --hw FILE"},
    {"--quick", VS_CLI_FLAG, VS_CLI_AT(quick), NULL, "measure for less than a minute (default)"},
    {"--full", VS_CLI_FLAG, VS_CLI_AT(full), NULL, "measure for minutes: larger sets, more often"},
    {"--folder", VS_CLI_TEXT, VS_CLI_AT(folder), "DIR",
     "where the storage to measure is (default: the working directory)"},
    {"--samples", VS_CLI_TEXT, VS_CLI_AT(samples), "FILE[,FILE]",
     "fit samples of the probes, or output of other tools, instead of measuring"},
    {"--hw", VS_CLI_TEXT, VS_CLI_AT(hw), "NAME",
     "the profile that a GPU's numbers go into (default: that of its name in the samples)"},
    {"--from-cases", VS_CLI_TEXT, VS_CLI_AT(from_cases), "FILE",
     "fit the profile that the cases of a case file name, instead of measuring"},
    {"--check", VS_CLI_TEXT, VS_CLI_AT(check), "PROFILE",
     "compare with a profile instead of writing one"},
    VS_CLI_QUIET,
    VS_CLI_THREADS,
};

/* ---- the profile's name: of its file, in the letters that names have ---- */

static const char *name_of(struct vs_arena *arena, const char *path) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *base = slash ? slash + 1 : path;
    char *name = vs_arena_strdup(arena, base && base[0] != '\0' ? base : "this-machine");
    size_t length = name ? strlen(name) : 0;
    if (length > 5 && strcmp(name + length - 5, ".json") == 0)
        name[length - 5] = '\0';
    for (char *at = name; at && *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
            *at = '-';
        if (at - name >= 63)
            at[1] = '\0';
    }
    return name;
}

/* ---- what is printed ---- */

/* To four digits: more than a measurement knows. */
static double rounded(double value) {
    double unit = value > 0 ? pow(10, floor(log10(value)) - 3) : 1;
    return round(value / unit) * unit;
}

static void put_value(struct vs_text *out, const char *path, double value) {
    char text[VS_UNIT_TEXT];
    const struct vs_field *field = vs_profile_field(path);
    if (field)
        vs_field_print(field, (struct vs_num){.value = rounded(value)}, text, sizeof text);
    vs_text_add(out, field ? text : "?");
}

static void put_found(struct vs_text *out, const struct vs_profile *profile) {
    for (size_t i = 0; i < profile->found_count; i++) {
        const struct vs_found *f = &profile->found[i];
        struct vs_text value = {0};
        put_value(&value, f->path, f->fitted.value);
        if (f->fitted.used > 1)
            vs_text_printf(out, "  %-30s %-14s +-%5.1f %%  %zu repetitions, %zu outliers", f->path,
                           vs_text_str(&value), 100 * f->fitted.half / f->fitted.value,
                           f->fitted.used, f->fitted.outliers);
        else
            vs_text_printf(out, "  %-30s %s", f->path, vs_text_str(&value));
        vs_text_add(out, "\n");
        out->failed = out->failed || value.failed;
        vs_text_release(&value);
    }
    vs_text_add(out, "  +-: half of the 95 % interval\n");
    for (size_t i = 0; i < profile->note_count; i++)
        vs_text_printf(out, "  note: %s\n", profile->notes[i]);
}

/* ---- --check ---- */

static bool put_drift(struct vs_cli *cli, const struct vs_profile *now, struct vs_err *err) {
    const struct vs_machine *m;
    const struct vs_machine_request request = {.hw = cli->values.check};
    if (!vs_machine_load(cli->arena, &request, &m, err))
        return false;
    vs_text_printf(&cli->out, "%-32s %-14s %-14s drift\n", m->name, "profile", "now");
    for (size_t i = 0; i < now->found_count; i++) {
        const struct vs_found *f = &now->found[i];
        const struct vs_num *was = vs_profile_number(m, f->path);
        if (!was)
            continue;
        struct vs_text before = {0}, after = {0};
        put_value(&before, f->path, was->value);
        put_value(&after, f->path, f->fitted.value);
        double drift = was->value > 0 ? f->fitted.value / was->value - 1 : 0;
        bool sure = fabs(drift) * was->value > f->fitted.half;
        vs_text_printf(&cli->out, "  %-30s %-14s %-14s %+6.1f %%%s\n", f->path,
                       vs_text_str(&before), vs_text_str(&after), 100 * drift,
                       sure ? "" : "  (within its spread)");
        cli->out.failed = cli->out.failed || before.failed || after.failed;
        vs_text_release(&before);
        vs_text_release(&after);
    }
    return true;
}

static bool write_profile(struct vs_cli *cli, const struct vs_profile *profile,
                          struct vs_err *err) {
    struct vs_text text = {0};
    vs_profile_write(&text, profile);
    bool ok = !cli->values.out_file || vs_cli_write(cli, cli->values.out_file, &text, err);
    vs_text_release(&text);
    return ok;
}

/* ---- --from-cases ---- */

static void put_number(struct vs_text *out, const struct vs_case_fit *f, size_t index) {
    const struct vs_case_number *n = &f->numbers[index];
    const struct vs_nonlinear_number *fitted = &f->fit.numbers[index];
    struct vs_text before = {0}, after = {0};
    put_value(&before, n->path, n->prior.value);
    put_value(&after, n->path, n->value);
    vs_text_printf(out, "  %-36s %-14s %-14s +-%5.1f %%  %zu rows%s%s%s\n", n->path,
                   vs_text_str(&before), vs_text_str(&after), 100 * fitted->half, fitted->rows,
                   n->more[0] ? ", " : "", n->more,
                   fabs(fitted->step) > FAR * n->width ? ", far from the profile" : "");
    out->failed = out->failed || before.failed || after.failed;
    vs_text_release(&before);
    vs_text_release(&after);
}

/* A number that stays where it was although rows depend on it, and why. */
static void put_stays(struct vs_text *out, const struct vs_case_fit *f, size_t index) {
    const struct vs_nonlinear_number *fitted = &f->fit.numbers[index];
    const char *path = f->numbers[index].path;
    if (fitted->verdict == VS_WEAK)
        vs_text_printf(out, "  %s: the rows say less of it than the profile does\n", path);
    else if (fitted->verdict == VS_ALIKE)
        vs_text_printf(out, "  %s: the rows can't tell it from %s\n", path,
                       f->numbers[fitted->like].path);
    else if (fitted->verdict == VS_TOO_MANY)
        vs_text_printf(out, "  %s: too few runs for one number more\n", path);
}

/* Those that no row depends on, eighty columns to a line. */
static void put_unseen(struct vs_text *out, const struct vs_case_fit *f) {
    static const char START[] = "  no row depends on:";
    size_t column = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->fit.numbers[i].verdict != VS_UNSEEN)
            continue;
        const char *path = f->numbers[i].path;
        if (column == 0 || column + 1 + strlen(path) > 80) {
            vs_text_printf(out, "%s%s", column == 0 ? "" : "\n   ", column == 0 ? START : "");
            column = column == 0 ? strlen(START) : 3;
        }
        vs_text_printf(out, " %s", path);
        column += 1 + strlen(path);
    }
    vs_text_add(out, column > 0 ? "\n" : "");
}

static void put_rows(struct vs_text *out, const struct vs_case_fit *f) {
    char text[VS_UNIT_TEXT];
    for (size_t i = 0; i < f->row_count; i++)
        if (f->fit.depends[i] && f->fit.weight[i] < VS_NONLINEAR_OUTLIER)
            vs_text_printf(out, "  outlier: %s %s: predicted/measured %s\n", f->rows[i].id,
                           f->rows[i].metric,
                           vs_print_speed(text, exp(f->fit.after[i]) / f->rows[i].measured));
    for (size_t i = 0; i < f->failed_count; i++)
        vs_text_printf(out, "  left out: %s %s: %s\n", f->failed[i].id, f->failed[i].metric,
                       f->failed[i].failure ? f->failed[i].failure : "no prediction above 0");
    if (f->low_trust + f->searched > 0)
        vs_text_printf(out, "  left out: rows of low trust %zu, OOM points and yes or no %zu\n",
                       f->low_trust, f->searched);
}

static void put_cases(struct vs_text *out, const struct vs_case_fit *f) {
    size_t carried = 0;
    vs_text_printf(out, "%s, from %zu rows\n", f->machine->name, f->row_count);
    for (size_t i = 0; i < f->count; i++)
        carried += f->fit.numbers[i].verdict == VS_CARRIED;
    if (carried > 0)
        vs_text_printf(out, "  %-36s %-14s %-14s %s\n", "number", "before", "after",
                       "+- 95 %  rests on");
    else
        vs_text_add(out, "  no number is carried by the rows\n");
    for (size_t i = 0; i < f->count; i++)
        if (f->fit.numbers[i].verdict == VS_CARRIED)
            put_number(out, f, i);
    if (carried > 0)
        vs_text_printf(out,
                       "  %zu rows depend on them: median |predicted/measured - 1| %.1f %% before, "
                       "%.1f %% after; %zu outliers\n",
                       f->fit.used + f->fit.outliers, 100 * f->median_before, 100 * f->median_after,
                       f->fit.outliers);
    put_rows(out, f);
    vs_text_add(out, "Numbers that stay as the profile has them:\n");
    for (size_t i = 0; i < f->count; i++)
        put_stays(out, f, i);
    put_unseen(out, f);
}

static bool fit_cases(struct vs_cli *cli, const char *name, struct vs_err *err) {
    const struct vs_case_fit_options options = {
        .path = cli->values.from_cases, .name = name, .threads = vs_cli_threads(cli)};
    struct vs_case_fit *fit = VS_NEW(cli->arena, struct vs_case_fit);
    if (!fit)
        return vs_err_nomem(err);
    if (!vs_cases_fit(cli->arena, &options, fit, err))
        return false;
    put_cases(&cli->out, fit);
    return write_profile(cli, &fit->profile, err);
}

/* ---- the command ---- */

static bool check_words(const struct vs_cli_values *v, struct vs_err *err) {
    if (v->quick && v->full)
        return vs_err_set(err, VS_ERR_INPUT, "--quick and --full exclude each other");
    if (v->out_file && v->check)
        return vs_err_set(err, VS_ERR_INPUT, "--out and --check exclude each other");
    const char *instead = v->samples ? "samples" : v->from_cases ? "from-cases" : NULL;
    if (instead && (v->quick || v->full || v->folder))
        return vs_err_set(err, VS_ERR_INPUT, "--%s is instead of measuring: expected no --%s",
                          instead,
                          v->quick  ? "quick"
                          : v->full ? "full"
                                    : "folder");
    if (v->from_cases && (v->samples || v->hw || v->check))
        return vs_err_set(err, VS_ERR_INPUT,
                          "--from-cases fits the profile that its cases name: expected no --%s",
                          v->samples ? "samples"
                          : v->hw    ? "hw"
                                     : "check");
    return true;
}

/* One file, or several joined by commas. */
static bool read_all(struct vs_cli *cli, const char *paths, struct vs_samples *samples,
                     struct vs_err *err) {
    size_t count;
    char **path = vs_split(cli->arena, paths, ',', &count);
    if (!path)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        struct vs_samples more;
        if (!vs_samples_read(cli->arena, path[i], i == 0 ? samples : &more, err) ||
            (i > 0 && !vs_samples_join(cli->arena, samples, &more, err)))
            return false;
    }
    return true;
}

/* Measures, and leaves no file of samples behind. */
static bool measure_all(struct vs_cli *cli, struct vs_samples *samples, struct vs_err *err) {
    const struct vs_measure_options how = {.full = cli->values.full, .folder = cli->values.folder};
    const char *host = NULL, *gpu = NULL;
    struct vs_samples more;
    bool ok = vs_measure(cli->arena, &how, &host, err) &&
              vs_measure_gpu(cli->arena, &how, &gpu, err) &&
              vs_samples_read(cli->arena, host, samples, err) &&
              (!gpu || (vs_samples_read(cli->arena, gpu, &more, err) &&
                        vs_samples_join(cli->arena, samples, &more, err)));
    if (host)
        (void)unlink(host);
    if (gpu)
        (void)unlink(gpu);
    return ok;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *v = &cli->values;
    struct vs_samples samples;
    struct vs_profile profile;
    const char *name = name_of(cli->arena, v->out_file);
    if (!name)
        return vs_err_nomem(err);
    if (!check_words(v, err))
        return false;
    if (v->from_cases)
        return fit_cases(cli, name, err);
    if (!(v->samples ? read_all(cli, v->samples, &samples, err)
                     : measure_all(cli, &samples, err)) ||
        !vs_profile_fit(cli->arena, &samples, name, v->hw, &profile, err))
        return false;
    if (v->check)
        return put_drift(cli, &profile, err);
    vs_text_printf(&cli->out, "%s\n", profile.title);
    put_found(&cli->out, &profile);
    return write_profile(cli, &profile, err);
}

const struct vs_command vs_command_calibrate = {
    .name = "calibrate",
    .about = "Write a profile of this machine, or of measurements.",
    .usage = "[--out FILE] [--samples FILE[,FILE] | --from-cases FILE] [OPTION...]",
    .more = "Measures processor, memory and storage with vramsim-probe, a GPU with\n"
            "vramsim-probe-cuda where that was built, fits the numbers of a profile to the\n"
            "times and says how far they spread. Close other programs first.\n"
            "--samples takes what these print too: llama-bench -o json, nvbandwidth -j,\n"
            "nccl-tests, fio --output-format=json, and the log of a vLLM start.\n"
            "--from-cases takes a case file of one machine, as validate does, and moves the\n"
            "numbers that its rows carry; the others stay, and it says why.\n",
    .axes = VS_CLI_NO_AXES,
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .run = run,
};
