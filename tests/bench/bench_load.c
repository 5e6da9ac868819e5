/* How long it takes to load everything that is known: each profile by itself, and all models.
 * Printed, not judged: machines differ. The best of some rounds, in milliseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/data.h"
#include "hw/machine.h"
#include "model/model.h"

enum { ROUNDS = 20 };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool load_device(struct vs_arena *arena, const char *name, struct vs_err *err) {
    struct vs_device device;
    return vs_device_load(arena, name, &device, err);
}

static bool load_host(struct vs_arena *arena, const char *name, struct vs_err *err) {
    struct vs_host host;
    return vs_host_load(arena, name, &host, err);
}

static bool load_link(struct vs_arena *arena, const char *name, struct vs_err *err) {
    struct vs_link link;
    return vs_link_load(arena, name, &link, err);
}

static bool load_storage(struct vs_arena *arena, const char *name, struct vs_err *err) {
    struct vs_storage storage;
    return vs_storage_load(arena, name, &storage, err);
}

static bool load_machine(struct vs_arena *arena, const char *name, struct vs_err *err) {
    struct vs_board board;
    return vs_board_read(arena, name, &board, err);
}

static bool load_model(struct vs_arena *arena, const char *name, struct vs_err *err) {
    const struct vs_model *model = NULL;
    return vs_model_load(arena, name, &model, err);
}

static const struct kind {
    const char *folder;
    bool (*load)(struct vs_arena *arena, const char *name, struct vs_err *err);
} KINDS[] = {
    {"hwprofiles/devices", load_device},   {"hwprofiles/hosts", load_host},
    {"hwprofiles/links", load_link},       {"hwprofiles/storage", load_storage},
    {"hwprofiles/machines", load_machine}, {"workloads/models", load_model},
};
enum { KIND_COUNT = sizeof KINDS / sizeof KINDS[0] };

/* Loads a folder; *files counts. */
static bool load_all(const struct kind *kind, size_t *files, struct vs_err *err) {
    struct vs_arena arena;
    const char *const *names = NULL;
    vs_arena_init(&arena);
    bool ok = vs_data_list(&arena, kind->folder, &names, files, err);
    for (size_t i = 0; ok && i < *files; i++)
        ok = kind->load(&arena, names[i], err);
    vs_arena_release(&arena);
    return ok;
}

int main(void) {
    double all = 0;
    size_t all_files = 0;
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct vs_err err = {0};
        double best = 1e9;
        size_t files = 0;
        for (int round = 0; round < ROUNDS; round++) {
            double start = now_ms();
            if (!load_all(&KINDS[k], &files, &err)) {
                fprintf(stderr, "bench_load: %s\n", err.text);
                return EXIT_FAILURE;
            }
            double took = now_ms() - start;
            best = took < best ? took : best;
        }
        printf("load %-20s %4zu files %8.2f ms\n", KINDS[k].folder, files, best);
        all += best;
        all_files += files;
    }
    printf("load %-20s %4zu files %8.2f ms\n", "everything", all_files, all);
    return EXIT_SUCCESS;
}
