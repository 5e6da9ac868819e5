/* Files, folders and threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "unit/suite.h"

static struct vs_arena arena;
static char folder[64];

static void setup(void) {
    (void)snprintf(folder, sizeof folder, "/tmp/vramsim-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void) {
    vs_arena_release(&arena);
    (void)rmdir(folder);
}

static const char *in_folder(const char *name) {
    return vs_arena_printf(&arena, "%s/%s", folder, name);
}

static size_t names_in(const char *path) {
    const char *const *names = NULL;
    size_t count = 99;
    struct vs_err err = {0};
    ck_assert_msg(vs_dir_list(&arena, path, "", &names, &count, &err), "%s", err.text);
    return count;
}

START_TEST(written_file_is_read_back) {
    const char *path = in_folder("a.txt");
    struct vs_err err = {0};
    char *text = NULL;
    size_t length = 0;
    ck_assert_msg(vs_file_write(path, "one\0two", 7, &err), "%s", err.text);
    ck_assert(vs_file_read(&arena, path, 7, &text, &length, &err));
    ck_assert_uint_eq(length, 7);
    ck_assert_mem_eq(text, "one\0two", 8); /* with the terminator */
    /* written again: replaced, and no temporary file left */
    ck_assert(vs_file_write(path, "", 0, &err));
    ck_assert(vs_file_read(&arena, path, 7, &text, &length, &err));
    ck_assert_uint_eq(length, 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(names_in(folder), 1);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(unreadable_files_are_bad_input) {
    const char *path = in_folder("a.txt"), *pipe_path = in_folder("pipe");
    struct vs_err err = {0};
    char *text = NULL;
    size_t length = 99;
    ck_assert(!vs_file_read(&arena, path, 7, &text, &length, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text,
                     vs_arena_printf(&arena, "cannot read '%s': no such file or directory", path));
    ck_assert(!vs_file_read(&arena, folder, 7, &text, &length, &err));
    ck_assert_str_eq(err.text,
                     vs_arena_printf(&arena, "cannot read '%s': not a regular file", folder));
    /* a pipe is refused without waiting for somebody who writes */
    ck_assert_int_eq(mkfifo(pipe_path, 0600), 0);
    ck_assert(!vs_file_read(&arena, pipe_path, 7, &text, &length, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_int_eq(unlink(pipe_path), 0);
    ck_assert(vs_file_write(path, "12345678", 8, &err));
    ck_assert(!vs_file_read(&arena, path, 7, &text, &length, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(
        err.text,
        vs_arena_printf(&arena, "cannot read '%s': found 8 bytes, expected at most 7", path));
    ck_assert_ptr_null(text);
    ck_assert_uint_eq(length, 99);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(streams_open_for_reading) {
    struct vs_err err = {0};
    FILE *stream = NULL;
    const char *path = in_folder("a.txt");
    ck_assert(!vs_file_open(path, &stream, &err));
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert(!vs_file_open(folder, &stream, &err));
    ck_assert_str_eq(err.text, vs_arena_printf(&arena, "cannot read '%s': is a directory", folder));
    ck_assert_ptr_null(stream);
    ck_assert(vs_file_write(path, "x", 1, &err));
    ck_assert(vs_file_open(path, &stream, &err));
    ck_assert_int_eq(getc(stream), 'x');
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(failed_write_leaves_nothing) {
    struct vs_err err = {0};
    ck_assert(!vs_file_write(in_folder("none/a.txt"), "x", 1, &err));
    ck_assert_int_eq(err.status, VS_ERR_IO);
    ck_assert(!vs_file_write(folder, "x", 1, &err));
    ck_assert_int_eq(err.status, VS_ERR_IO);
    ck_assert(!vs_file_write("", "x", 1, &err));
    ck_assert_int_eq(err.status, VS_ERR_IO);
    ck_assert_uint_eq(names_in(folder), 0);
}
END_TEST

START_TEST(devices_are_written_in_place) {
    struct vs_err err = {0};
    ck_assert(vs_file_write("/dev/null", "x", 1, &err));
    ck_assert(!vs_file_exists("/dev/null")); /* still no regular file */
    if (access("/dev/full", W_OK) == 0) {
        ck_assert(!vs_file_write("/dev/full", "x", 1, &err));
        ck_assert_int_eq(err.status, VS_ERR_IO);
        ck_assert_str_eq(err.text, "cannot write '/dev/full': no space left on device");
    }
}
END_TEST

START_TEST(links_stay_links) {
    const char *path = in_folder("a.txt"), *link_path = in_folder("link");
    struct vs_err err = {0};
    struct stat info;
    char *text = NULL;
    size_t length = 0;
    ck_assert(vs_file_write(path, "old", 3, &err));
    ck_assert_int_eq(symlink(path, link_path), 0);
    ck_assert(vs_file_write(link_path, "new", 3, &err));
    ck_assert_int_eq(lstat(link_path, &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    ck_assert(vs_file_read(&arena, path, 9, &text, &length, &err));
    ck_assert_str_eq(text, "new");
    ck_assert_int_eq(unlink(link_path), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(folders) {
    const char *deep = in_folder("x//y/z/");
    struct vs_err err = {0};
    const char *const *names = NULL;
    size_t count = 99;
    ck_assert_msg(vs_dir_make(deep, &err), "%s", err.text);
    ck_assert(vs_dir_make(deep, &err)); /* again: no error */
    ck_assert(vs_dir_exists(in_folder("x/y/z")));
    ck_assert(!vs_file_exists(in_folder("x/y/z")));
    ck_assert(!vs_dir_make("", &err));
    static const char *const FILES[] = {"b.json", "B.json", "a.json", "a.txt", ".json", ".c.json"};
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        ck_assert(vs_file_write(vs_arena_printf(&arena, "%s%s", deep, FILES[i]), "", 0, &err));
    ck_assert(vs_dir_list(&arena, deep, ".json", &names, &count, &err));
    ck_assert_uint_eq(count, 3); /* by bytes: capitals first; nothing hidden */
    ck_assert_str_eq(names[0], "B");
    ck_assert_str_eq(names[1], "a");
    ck_assert_str_eq(names[2], "b");
    /* a file is no folder */
    const char *file = in_folder("x/y/z/a.txt");
    ck_assert(vs_file_exists(file));
    ck_assert(!vs_dir_make(file, &err));
    ck_assert_int_eq(err.status, VS_ERR_IO);
    ck_assert(!vs_dir_make(vs_arena_printf(&arena, "%s/under", file), &err));
    ck_assert(!vs_dir_list(&arena, file, ".json", &names, &count, &err));
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        ck_assert_int_eq(unlink(vs_arena_printf(&arena, "%s%s", deep, FILES[i])), 0);
    ck_assert_int_eq(rmdir(in_folder("x/y/z")), 0);
    ck_assert_int_eq(rmdir(in_folder("x/y")), 0);
    ck_assert_int_eq(rmdir(in_folder("x")), 0);
    /* a missing folder has no names */
    ck_assert(vs_dir_list(&arena, deep, ".json", &names, &count, &err));
    ck_assert_uint_eq(count, 0);
}
END_TEST

enum { JOBS = 1000 };

struct tally {
    atomic_int calls[JOBS];
    atomic_int wrong_worker;
    unsigned threads;
};

static void count_call(void *ctx, size_t i, unsigned worker) {
    struct tally *tally = ctx;
    atomic_fetch_add(&tally->calls[i], 1);
    if (worker >= tally->threads)
        atomic_fetch_add(&tally->wrong_worker, 1);
}

START_TEST(each_job_runs_once) {
    static const unsigned THREADS[] = {0, 1, 2, 7, 5000};
    for (size_t k = 0; k < sizeof THREADS / sizeof THREADS[0]; k++) {
        struct tally tally = {.threads = vs_parallel_threads(THREADS[k])};
        vs_parallel(JOBS, THREADS[k], count_call, &tally);
        ck_assert_int_eq(atomic_load(&tally.wrong_worker), 0);
        for (size_t i = 0; i < JOBS; i++)
            ck_assert_int_eq(atomic_load(&tally.calls[i]), 1);
    }
    struct tally none = {.threads = 1};
    vs_parallel(0, 4, count_call, &none);
    vs_parallel(1, 4, count_call, &none);
    ck_assert_int_eq(atomic_load(&none.calls[0]), 1);
}
END_TEST

START_TEST(threads_by_default) {
    ck_assert_uint_ge(vs_parallel_threads(0), 1);
    ck_assert_uint_eq(vs_parallel_threads(3), 3);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("file");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, written_file_is_read_back);
    tcase_add_test(tests, unreadable_files_are_bad_input);
    tcase_add_test(tests, streams_open_for_reading);
    tcase_add_test(tests, failed_write_leaves_nothing);
    tcase_add_test(tests, devices_are_written_in_place);
    tcase_add_test(tests, links_stay_links);
    tcase_add_test(tests, folders);
    tcase_add_test(tests, each_job_runs_once);
    tcase_add_test(tests, threads_by_default);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
