#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"
#include "calib/measure.h"
#include "calib/profile.h"
#include "cli/cli.h"
#include "hw/machine.h"
#include "report/table.h"

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
    {"--check", VS_CLI_TEXT, VS_CLI_AT(check), "PROFILE",
     "compare with a profile instead of writing one"},
    VS_CLI_QUIET,
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

/* The field of a part that a path such as "host.ram_bytes" names. */
static const struct vs_field *field_of(const char *path) {
    const struct {
        const char *part;
        const struct vs_field *fields;
        size_t count;
    } parts[] = {{"host.", vs_host_fields, vs_host_field_count},
                 {"storage.", vs_storage_fields, vs_storage_field_count},
                 {"device.", vs_device_fields, vs_device_field_count},
                 {"arch.", vs_arch_fields, vs_arch_field_count},
                 {"link.", vs_link_fields, vs_link_field_count}};
    for (size_t p = 0; p < COUNT_OF(parts); p++)
        for (size_t i = 0; vs_starts(path, parts[p].part) && i < parts[p].count; i++)
            if (vs_streq(parts[p].fields[i].path, path + strlen(parts[p].part)))
                return &parts[p].fields[i];
    return NULL;
}

/* To four digits: more than a measurement knows. */
static double rounded(double value) {
    double unit = value > 0 ? pow(10, floor(log10(value)) - 3) : 1;
    return round(value / unit) * unit;
}

static void put_value(struct vs_text *out, const char *path, double value) {
    char text[VS_UNIT_TEXT];
    const struct vs_field *field = field_of(path);
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

/* NULL where the machine has no such part. */
static const void *part_of(const struct vs_machine *m, const char *path) {
    if (vs_starts(path, "host."))
        return m->host;
    if (vs_starts(path, "storage."))
        return m->storage;
    if (vs_starts(path, "link."))
        return m->link;
    const struct vs_device *device = m->device_count > 0 ? m->devices[0] : NULL;
    return device && vs_starts(path, "arch.") ? (const void *)&device->arch : device;
}

static bool put_drift(struct vs_cli *cli, const struct vs_profile *now, struct vs_err *err) {
    const struct vs_machine *m;
    const struct vs_machine_request request = {.hw = cli->values.check};
    if (!vs_machine_load(cli->arena, &request, &m, err))
        return false;
    vs_text_printf(&cli->out, "%-32s %-14s %-14s drift\n", m->name, "profile", "now");
    for (size_t i = 0; i < now->found_count; i++) {
        const struct vs_found *f = &now->found[i];
        const struct vs_field *field = field_of(f->path);
        const void *part = part_of(m, f->path);
        if (!field || !part)
            continue;
        const struct vs_num *was =
            (const struct vs_num *)(const void *)((const char *)part + field->offset);
        if (!vs_num_known(*was))
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

/* ---- the command ---- */

static bool check_words(const struct vs_cli_values *v, struct vs_err *err) {
    if (v->quick && v->full)
        return vs_err_set(err, VS_ERR_INPUT, "--quick and --full exclude each other");
    if (v->out_file && v->check)
        return vs_err_set(err, VS_ERR_INPUT, "--out and --check exclude each other");
    if (v->samples && (v->quick || v->full || v->folder))
        return vs_err_set(err, VS_ERR_INPUT, "--samples is instead of measuring: expected no --%s",
                          v->quick  ? "quick"
                          : v->full ? "full"
                                    : "folder");
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

static bool write_profile(struct vs_cli *cli, const struct vs_profile *profile,
                          struct vs_err *err) {
    struct vs_text text = {0};
    vs_profile_write(&text, profile);
    bool ok = !cli->values.out_file || vs_cli_write(cli, cli->values.out_file, &text, err);
    vs_text_release(&text);
    return ok;
}

static bool run(struct vs_cli *cli, struct vs_err *err) {
    const struct vs_cli_values *v = &cli->values;
    struct vs_samples samples;
    struct vs_profile profile;
    if (!check_words(v, err) ||
        !(v->samples ? read_all(cli, v->samples, &samples, err) : measure_all(cli, &samples, err)))
        return false;
    const char *name = name_of(cli->arena, v->out_file);
    if (!name)
        return vs_err_nomem(err);
    if (!vs_profile_fit(cli->arena, &samples, name, v->hw, &profile, err))
        return false;
    if (v->check)
        return put_drift(cli, &profile, err);
    vs_text_printf(&cli->out, "%s\n", profile.title);
    put_found(&cli->out, &profile);
    return write_profile(cli, &profile, err);
}

const struct vs_command vs_command_calibrate = {
    .name = "calibrate",
    .about = "Measure this machine and write its profile.",
    .usage = "[--out FILE] [OPTION...]",
    .more = "Measures processor, memory and storage with vramsim-probe, a GPU with\n"
            "vramsim-probe-cuda where that was built, fits the numbers of a profile to the\n"
            "times and says how far they spread. Close other programs first.",
    .axes = VS_CLI_NO_AXES,
    .options = OPTIONS,
    .option_count = COUNT_OF(OPTIONS),
    .run = run,
};
