/* For tests of profiles: loading a machine, and what the refusal of one must say. */
#ifndef VS_TESTS_HW_HELPERS_H
#define VS_TESTS_HW_HELPERS_H

#include <check.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "hw/machine.h"

#define COUNT_OF(table) (sizeof(table) / sizeof(table)[0])
#define GIB ((double)VS_GIB)

static struct vs_arena arena;
static struct vs_err err;

static inline void setup(void) {
    vs_arena_init(&arena);
    err = (struct vs_err){0};
}

static inline void teardown(void) { vs_arena_release(&arena); }

static inline const struct vs_machine *load(struct vs_machine_request request) {
    const struct vs_machine *machine = NULL;
    bool ok = vs_machine_load(&arena, &request, &machine, &err);
    ck_assert_msg(ok, "%s: %s", request.hw, err.text);
    return machine;
}

static inline const struct vs_machine *load_hw(const char *hw) {
    return load((struct vs_machine_request){.hw = hw});
}

static inline void refuse(struct vs_machine_request request, const char *message) {
    const struct vs_machine *machine = NULL;
    err = (struct vs_err){0};
    ck_assert_msg(!vs_machine_load(&arena, &request, &machine, &err), "taken: %s", request.hw);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_ptr_null(machine);
    ck_assert_msg(strstr(err.text, message), "'%s' lacks '%s'", err.text, message);
}

#endif
