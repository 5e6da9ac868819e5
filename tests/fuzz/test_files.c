/* Every reader of files: profiles of hardware, models (ours and config.json), engines, workloads,
 * configurations of DeepSpeed, case files, saved results. What is read is used: a machine is put
 * together, a model's tensors are counted and a short run is simulated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "engine/engine.h"
#include "fuzz/fuzz.h"
#include "hw/machine.h"
#include "import/executed.h"
#include "model/model.h"
#include "report/page.h"
#include "report/plot/book.h"
#include "report/saved.h"
#include "run/cases.h"
#include "run/run.h"
#include "work/options.h"
#include "work/workload.h"

static struct vs_arena arena; /* of a round */
static char folder[64];
static char path[128]; /* of the changed file */

/* Runs a point in the words of the command line. */
static bool run(const char *words, struct vs_err *err) {
    static struct vs_grid grid;
    static struct vs_request request;
    const struct vs_option_rules rules = {.lists = false};
    const struct vs_outcome *outcome = NULL;
    char **list = NULL;
    size_t count = 0;
    grid = (struct vs_grid){.set_count = 0};
    request = (struct vs_request){.set_count = 0};
    return words && vs_shell_split(&arena, words, &list, &count, err) &&
           vs_options_parse(&arena, (const char *const *)list, count, &rules, &grid, err) &&
           vs_grid_point(&grid, &request.user, err) &&
           vs_run(&arena, &request, &(struct vs_run_options){.intervals = true}, &outcome, err);
}

static bool read_device(struct vs_err *err) {
    return run(vs_arena_printf(&arena, "--hw '%s' --workload chat8b --engine ideal --gen 2", path),
               err);
}

/* The file of a generation is found by the devices that name it. */
static bool read_arch(struct vs_err *err) {
    struct vs_device device;
    const char *before = vs_data_root_swap(folder);
    const bool done = vs_device_load(&arena, "rtx4090", &device, err);
    vs_data_root_swap(before);
    return done;
}

static bool read_host(struct vs_err *err) {
    return run(vs_arena_printf(&arena,
                               "--hw rtx3060 --host '%s' --workload chat8b --engine llamacpp "
                               "--gpu-layers 16 --gen 2",
                               path),
               err);
}

static bool read_link(struct vs_err *err) {
    return run(vs_arena_printf(&arena,
                               "--hw rtx3060 --link '%s' --workload chat8b --engine ideal "
                               "--offload stream --gen 2",
                               path),
               err);
}

static bool read_storage(struct vs_err *err) {
    struct vs_storage storage;
    return vs_storage_load(&arena, path, &storage, err);
}

static bool read_board(struct vs_err *err) {
    struct vs_board board;
    const struct vs_machine *machine = NULL;
    return vs_board_read(&arena, path, &board, err) &&
           vs_machine_load(&arena, &(struct vs_machine_request){.hw = path}, &machine, err);
}

static void count_tensors(const struct vs_model *model) {
    static const char *const names[] = {"fp16", "q4_k_m", "nf4-dq", "gptq4:64"};
    struct vs_format format;
    struct vs_err err = {.status = VS_OK};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!vs_format_parse(names[i], &format, &err))
            exit(2);
        for (size_t k = 0; k < model->tensor_count; k++)
            (void)vs_tensor_bytes(model, &model->tensors[k], &format, NULL);
    }
    const struct vs_type *type = vs_type_find("fp16");
    for (uint32_t i = 0; i < model->layers; i++) {
        (void)vs_kv_layer_bytes(model, i, 1 << 20, type, type);
        (void)vs_state_layer_bytes(model, i, type, type);
    }
}

static bool read_model(struct vs_err *err) {
    const struct vs_model *model = NULL;
    if (!vs_model_load(&arena, path, &model, err))
        return false;
    count_tensors(model);
    return run(vs_arena_printf(&arena,
                               "--hw h200 --model '%s' --engine ideal --task generate --prompt 8 "
                               "--gen 2",
                               path),
               err);
}

static bool read_engine(struct vs_err *err) {
    const char *task = fuzz_below(2) ? "--workload chat8b" : "--workload lora8b";
    return run(vs_arena_printf(&arena, "--hw rtx3090 --engine '%s' %s --gen 2", path, task), err);
}

static bool read_deepspeed(struct vs_err *err) {
    return run(vs_arena_printf(&arena,
                               "--hw a100-80g-sxm --gpus 2 --model gpt2 --task train --seq 64 "
                               "--ckpt full --config '%s'",
                               path),
               err);
}

static bool read_workload(struct vs_err *err) {
    return run(vs_arena_printf(&arena, "--hw rtx4090 --workload '%s'", path), err);
}

static bool read_cases(struct vs_err *err) {
    const char *const paths[] = {path};
    struct vs_cases cases = {.rows = {0}};
    const struct vs_validate_options options = {.paths = paths, .path_count = 1};
    const bool done = vs_cases_read(&arena, &options, &cases, err);
    vs_cases_release(&cases);
    return done;
}

/* What is read becomes a page and the tables of all plots. */
static bool read_saved(struct vs_err *err) {
    struct vs_result result;
    struct vs_book book;
    struct vs_text page = {0};
    if (!vs_saved_load(&arena, path, &result, err))
        return false;
    vs_book_init(&book, &result, 0);
#define X(id) vs_plot_table_##id.write(&book);
#include "report/plot/list.def"
#undef X
    vs_book_release(&book);
    const bool done = vs_report_page(&page, &result, err);
    vs_text_release(&page);
    return done;
}

static bool read_executed(struct vs_err *err) {
    struct vs_executed executed;
    return vs_executed_read(&arena, path, &executed, err);
}

struct target {
    const char *seeds, *suffix; /* good files: all of a folder */
    const char *name;           /* of the changed file in our folder */
    bool (*read)(struct vs_err *err);
    const char *only; /* one of them; NULL = all */
};
static const struct target TARGETS[] = {
    {"hwprofiles/devices", ".json", "device.json", read_device, NULL},
    {"hwprofiles/archs", ".json", "hwprofiles/archs/ada.json", read_arch, "ada"},
    {"hwprofiles/hosts", ".json", "host.json", read_host, NULL},
    {"hwprofiles/links", ".json", "link.json", read_link, NULL},
    {"hwprofiles/storage", ".json", "storage.json", read_storage, NULL},
    {"hwprofiles/machines", ".json", "machine.json", read_board, NULL},
    {"workloads/models", ".json", "model.json", read_model, NULL},
    {"tests/configs", ".json", "config.json", read_model, NULL},
    {"workloads/engines", ".json", "engine.json", read_engine, NULL},
    {"tests/configs/deepspeed", ".json", "ds.json", read_deepspeed, NULL},
    {"workloads", ".json", "workload.json", read_workload, NULL},
    {"tests/measured", ".csv", "cases.csv", read_cases, NULL},
    {"tests/golden", ".out", "sweep.json", read_saved, "sweep-json"},
    {"tests/golden", ".out", "limit.json", read_saved, "limit-grid-json"},
    {"tests/golden", ".out", "run.json", read_saved, "run-oom-json"},
    {"tests/golden", ".out", "validation.json", read_saved, "validate-json"},
    {"tests/golden/sweep-files.files", ".csv", "points.csv", read_saved, "a"},
    {"tests/replay", ".csv", "replay.csv", read_saved, NULL},
    {"tests/executed", ".json", "executed.json", read_executed, NULL},
};

/* A good file; of a long one its first lines. */
static void read_seed(const struct target *target, struct vs_text *text) {
    enum { MAX_BYTES = 1 << 24, TEXT_BYTES = 1 << 14 };
    const char *const *names = NULL;
    size_t count = 0, length = 0;
    char *seed = NULL;
    struct vs_err err = {.status = VS_OK};
    if (!vs_dir_list(&arena, target->seeds, target->suffix, &names, &count, &err) || count == 0)
        exit(2);
    const char *name = target->only ? target->only : names[fuzz_below(count)];
    const char *file = vs_arena_printf(&arena, "%s/%s%s", target->seeds, name, target->suffix);
    if (!file || !vs_file_read(&arena, file, MAX_BYTES, &seed, &length, &err))
        exit(2);
    if (length > TEXT_BYTES && vs_streq(target->suffix, ".csv"))
        for (length = TEXT_BYTES; seed[length - 1] != '\n';)
            length--;
    vs_text_addn(text, seed, length);
}

static void write_changed(const struct vs_text *text) {
    FILE *file = fopen(path, "wb");
    if (!file)
        exit(2);
    (void)fwrite(vs_text_str(text), 1, text->length, file);
    if (fclose(file) != 0)
        exit(2);
}

static void one_round(void) {
    const struct target *target = &TARGETS[fuzz_below(sizeof TARGETS / sizeof *TARGETS)];
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    vs_arena_reset(&arena);
    read_seed(target, &text);
    fuzz_mutate(&text, NULL, 0);
    (void)snprintf(path, sizeof path, "%s/%s", folder, target->name);
    write_changed(&text);
    fuzz_check(target->read(&err), &err, path);
    (void)remove(path);
    vs_text_release(&text);
}

static const char *const FOLDERS[] = {"/hwprofiles", "/hwprofiles/archs"};

static bool begin(void) {
    const char *base = getenv("TMPDIR");
    struct vs_err err = {.status = VS_OK};
    (void)snprintf(folder, sizeof folder, "%.40s/fuzz-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        return false;
    (void)snprintf(path, sizeof path, "%s%s", folder, FOLDERS[1]);
    return vs_dir_make(path, &err);
}

static void end(void) {
    for (size_t i = sizeof FOLDERS / sizeof *FOLDERS; i-- > 0;) {
        (void)snprintf(path, sizeof path, "%s%s", folder, FOLDERS[i]);
        (void)rmdir(path);
    }
    (void)rmdir(folder);
    vs_arena_release(&arena);
}

int main(int count, char **words) {
    if (!begin())
        return 2;
    printf("fuzz: a file that fails stays in %s\n", folder);
    (void)fflush(stdout);
    const int status = fuzz_main(count, words, one_round);
    end();
    return status;
}
