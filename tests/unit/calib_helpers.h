/* For tests of calibration: a document of samples in a file, and the profile that it makes. */
#ifndef VS_TESTS_CALIB_HELPERS_H
#define VS_TESTS_CALIB_HELPERS_H

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "calib/profile.h"
#include "hw_helpers.h"

static char file[] = "/tmp/vramsim-calib-XXXXXX";

static inline void begin(void) {
    setup();
    memcpy(file, "/tmp/vramsim-calib-XXXXXX", sizeof file);
    int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    (void)close(fd);
}

static inline void end(void) {
    (void)unlink(file);
    teardown();
}

/* `machine`: further members of "machine", each with a comma before it. */
static inline void write_document(const char *machine, const char *samples) {
    const char *text = vs_arena_printf(
        &arena,
        "{\"schema\": \"vramsim-samples/1\", \"program\": \"probe\", \"date\": \"2026-11-29\","
        "\"machine\": {\"processor\": \"Toy\", \"cores\": 4, \"sockets\": 1, \"ram_bytes\": 64e9,"
        "\"available_bytes\": 60e9, \"storage_bytes\": 1e12%s}, \"samples\": [%s]}",
        machine, samples);
    ck_assert(vs_file_write(file, text, strlen(text), &err));
}

/* One line of a document: `more` are further members, each with a comma behind it. */
#define SAMPLE(probe, more, work, seconds)                                                         \
    "{\"probe\": \"" probe "\", " more "\"work\": " work                                           \
    ", \"unit\": \"bytes\", \"seconds\": [" seconds "]}"

/* Lines of a document; the second list may be NULL. Both end with NULL. */
static inline const char *join(const char *const *first, const char *const *second) {
    const char *all = first[0];
    for (size_t i = 1; first[i]; i++)
        all = vs_arena_printf(&arena, "%s, %s", all, first[i]);
    for (size_t i = 0; second && second[i]; i++)
        all = vs_arena_printf(&arena, "%s, %s", all, second[i]);
    return all;
}

static inline void fit_file(const char *path, struct vs_profile *profile) {
    struct vs_samples samples;
    ck_assert_msg(vs_samples_read(&arena, path, &samples, &err), "%s", err.text);
    ck_assert_msg(vs_profile_fit(&arena, &samples, "mine", NULL, profile, &err), "%s", err.text);
}

static inline void fit_refused(const char *machine, const char *samples, const char *message) {
    struct vs_samples read;
    struct vs_profile p;
    write_document(machine, samples);
    bool ok = vs_samples_read(&arena, file, &read, &err) &&
              vs_profile_fit(&arena, &read, "mine", NULL, &p, &err);
    ck_assert(!ok);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, message) && strstr(err.text, file), "'%s', expected '%s'",
                  err.text, message);
}

static inline double value(const struct vs_profile *p, const char *path) {
    for (size_t i = 0; i < p->found_count; i++)
        if (strcmp(p->found[i].path, path) == 0)
            return p->found[i].fitted.value;
    return (double)NAN;
}

/* The profile as --hw takes it. */
static inline const struct vs_machine *as_machine(const struct vs_profile *p) {
    struct vs_text text = {0};
    vs_profile_write(&text, p);
    const char *path = vs_arena_printf(&arena, "%s.json", file);
    ck_assert(vs_file_write(path, vs_text_str(&text), text.length, &err));
    vs_text_release(&text);
    const struct vs_machine *m = load_hw(path);
    (void)unlink(path);
    return m;
}

#endif
