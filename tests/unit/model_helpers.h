/* For tests of models: an arena, and a config.json of a test's own, for each case. */
#ifndef VS_TESTS_MODEL_HELPERS_H
#define VS_TESTS_MODEL_HELPERS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/model.h"

static struct vs_arena arena;
static char folder[64], file[96];

static inline void setup(void) {
    vs_arena_init(&arena);
    snprintf(folder, sizeof folder, "/tmp/vramsim-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/config.json", folder);
}

static inline void teardown(void) {
    unlink(file);
    rmdir(folder);
    vs_arena_release(&arena);
}

static inline const struct vs_model *model_of(const char *name) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    ck_assert_msg(vs_model_load(&arena, name, &model, &err), "%s", err.text);
    return model;
}

static inline void write_text(const char *text) {
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    ck_assert_int_eq(fclose(out), 0);
}

#endif
