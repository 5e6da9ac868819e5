/* Profile files that users write themselves, and bad ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "hw_helpers.h"
#include "unit/suite.h"

/* Files of users */

static char home[64];

static const char *write_file(const char *name, const char *text) {
    const char *path = vs_arena_printf(&arena, "%s/%s", home, name);
    ck_assert_msg(vs_file_write(path, text, strlen(text), &err), "%s", err.text);
    return path;
}

static void setup_files(void) {
    setup();
    memcpy(home, "/tmp/vramsim-hw-XXXXXX", sizeof "/tmp/vramsim-hw-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(home));
}

static void teardown_files(void) {
    const char *const *names = NULL;
    size_t count = 0;
    ck_assert(vs_dir_list(&arena, home, "", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        (void)remove(vs_arena_printf(&arena, "%s/%s", home, names[i]));
    (void)rmdir(home);
    teardown();
}

/* The toy's file with one piece of text replaced. */
static const char *changed(const char *folder, const char *from, const char *to) {
    char *text = NULL;
    size_t length = 0;
    const char *path =
        vs_data_path(&arena, vs_arena_printf(&arena, "hwprofiles/%s/toy.json", folder));
    ck_assert(vs_file_read(&arena, path, 1 << 20, &text, &length, &err));
    const char *spot = strstr(text, from);
    ck_assert_msg(spot, "no '%s' in %s", from, path);
    return write_file("mine.json", vs_arena_printf(&arena, "%.*s%s%s", (int)(spot - text), text, to,
                                                   spot + strlen(from)));
}

START_TEST(a_device_file_of_ones_own) {
    const char *path = changed("devices", "\"name\": \"toy\"", "\"name\": \"mine\"");
    ck_assert_str_eq(load_hw(path)->name, "mine in toy");
    const struct vs_machine *m = load_hw(vs_arena_printf(&arena, "%sx3", path));
    ck_assert_uint_eq(m->device_count, 3);
    ck_assert_uint_eq(load_hw(vs_arena_printf(&arena, "%s+rtx4090", path))->device_count, 2);
}
END_TEST

START_TEST(a_capacity_that_is_not_stated_is_derived) {
    char *text = NULL;
    size_t length = 0;
    const char *path = vs_data_path(&arena, "hwprofiles/devices/rtx4090.json");
    ck_assert(vs_file_read(&arena, path, 1 << 20, &text, &length, &err));
    char *from = strstr(text, "    \"usable_bytes\""), *to = from ? strchr(from, '\n') : NULL;
    ck_assert_ptr_nonnull(to);
    memmove(from, to + 1, strlen(to + 1) + 1);
    struct vs_device d;
    ck_assert_msg(vs_device_load(&arena, write_file("mine.json", text), &d, &err), "%s", err.text);
    /* GeForce: 0.98 x 24 GiB. */
    ck_assert_double_eq_tol(d.memory.usable_bytes.value / GIB, 23.52, 1e-6);
    ck_assert_str_eq(d.memory.usable_bytes.method, "derived");
    /* With inline ECC 1/16 is gone: 0.9375 x 24 GiB. */
    char *ecc = strstr(text, "\"inline_ecc\": false");
    ck_assert_ptr_nonnull(ecc);
    memcpy(ecc, "\"inline_ecc\": true ", strlen("\"inline_ecc\": true "));
    const struct vs_machine *m = load_hw(write_file("mine.json", text));
    ck_assert_double_eq(m->devices[0]->memory.usable_bytes.value, 22.5 * GIB);
    ck_assert_ptr_nonnull(strstr(m->assumed[0], "capacity assumed"));
}
END_TEST

START_TEST(a_machine_file_with_devices) {
    const char *path =
        changed("machines", "\"host\"", "\"devices\": [\"toyx2\", \"rtx4090\"], \"host\"");
    const struct vs_machine *m = load_hw(path);
    ck_assert_uint_eq(m->device_count, 3);
    ck_assert_str_eq(m->name, "toyx2+rtx4090 in toy");
    ck_assert_str_eq(m->hw, path);
    ck_assert_str_eq(m->link->name, "toy");
}
END_TEST

START_TEST(bad_device_files) {
    static const struct {
        const char *from, *to, *message;
    } BAD[] = {
        {"\"vendor\"", "\"vendour\"", "vendor"},
        {"\"bandwidth_bytes_per_s\"", "\"bandwith_bytes_per_s\"", "bandwidth_bytes_per_s"},
        {"vramsim-device/1", "vramsim-device/9", "expected 'vramsim-device/1'"},
        {"\"name\": \"toy\"", "\"name\": \"A toy\\u001b\"", "expected up to 64 of a-z"},
        {"\"discrete\"", "\"quantum\"", "unknown kind 'quantum', expected one of: discrete"},
        {"\"discrete\"", "\"unified\"", "found a link, expected none with unified memory"},
        {"\"link\": \"toy\"", "\"link\": null", "missing key 'link'"},
        {"\"link\": \"toy\"", "\"link\": 4", "found a number, expected a string"},
        {"\"link\": \"toy\"", "\"link\": \"wire\"", "unknown link 'wire'"},
        {"\"arch\": \"toy\"", "\"arch\": \"volta2\"", "unknown arch 'volta2'"},
        {"\"machine\": \"toy\"", "\"machine\": \"barn\"", "unknown machine 'barn'"},
        {"\"machine\": \"toy\"", "\"machine\": \"toy\", \"machine\": \"toy\"", "machine"},
        {"\"value\": 100e9", "\"value\": -100e9", "$.memory.bandwidth_bytes_per_s.value"},
        {"\"value\": 100e9", "\"value\": 100", "$.memory.bandwidth_bytes_per_s.value"},
        {"\"value\": 100e9", "\"value\": \"fast\"", "found a string, expected a number"},
        {"\"method\": \"datasheet\"", "\"method\": \"dreamt\"", "unknown method 'dreamt'"},
        {"\"peer_bytes_per_s\": {\"value\": 10e9, \"method\": \"datasheet\", \"source\": "
         "\"round number, so that tests can be worked by hand\"},",
         "", "expected peer_bytes_per_s beside it"},
        {"\"inline_ecc\": false", "\"inline_ecc\": 0", "$.memory.inline_ecc"},
        {"\"memory\": {", "\"memory\": [{", "mine.json:"},
        {"\"usable_bytes\": {\"value\": 10737418240", "\"usable_bytes\": {\"value\": 20737418240",
         "memory.usable_bytes exceeds memory.nominal_bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(BAD); i++) {
        const char *path = changed("devices", BAD[i].from, BAD[i].to);
        refuse((struct vs_machine_request){.hw = path}, BAD[i].message);
        ck_assert_msg(strstr(err.text, "unknown ") || strstr(err.text, "mine.json"), "%s",
                      err.text);
    }
    refuse((struct vs_machine_request){.hw = write_file("mine.json", "")}, "mine.json");
    refuse((struct vs_machine_request){.hw = write_file("mine.json", "[1]")}, "mine.json:1:1");
}
END_TEST

START_TEST(bad_files_of_other_parts) {
    const char *path = changed("links", "\"latency_s\"", "\"latency\"");
    refuse((struct vs_machine_request){.hw = "toy", .link = path}, "latency");
    path = changed("hosts", "\"read_fraction\": {\"value\": 1", "\"read_fraction\": {\"value\": 2");
    refuse((struct vs_machine_request){.hw = "toy", .host = path}, "$.read_fraction.value");
    path = changed("storage", "vramsim-storage/1", "vramsim-host/1");
    refuse((struct vs_machine_request){.hw = "toy", .storage = path}, "'vramsim-storage/1'");
    path = changed("machines", "\"host\": \"toy\"", "\"devices\": [\"toy\"], \"host\": \"none\"");
    refuse((struct vs_machine_request){.hw = path}, "unknown host 'none'");
    path = changed("machines", "\"net_bytes_per_s\": {", "\"net_bytes_per_s\": { \"ada\": 5, ");
    refuse((struct vs_machine_request){.hw = path}, "$.net_bytes_per_s.ada");
}
END_TEST

/* A file with all that a machine is made of: the toy's parts under "parts". */
static const char *whole_machine(const char *devices, const char *host) {
    static const char *const FOLDERS[] = {"devices", "archs", "hosts", "links", "storage"};
    struct vs_text text = {0};
    vs_text_printf(
        &text,
        "{\"schema\": \"vramsim-machine/1\", \"name\": \"mine\", \"title\": \"Mine\","
        "\"devices\": [%s], \"host\": \"%s\", \"link\": \"#links\","
        "\"storage\": \"#storage\","
        "\"reserved_bytes\": {\"value\": 0, \"method\": \"measured\", \"source\": \"x\"},"
        "\"parts\": {\"none\": 1",
        devices, host);
    for (size_t i = 0; i < COUNT_OF(FOLDERS); i++) {
        char *part = NULL;
        size_t length = 0;
        const char *path =
            vs_data_path(&arena, vs_arena_printf(&arena, "hwprofiles/%s/toy.json", FOLDERS[i]));
        ck_assert(vs_file_read(&arena, path, 1 << 20, &part, &length, &err));
        vs_text_printf(&text, ", \"%s\": %s", FOLDERS[i], part);
    }
    vs_text_add(&text, "}}");
    const char *path = write_file("mine.json", vs_text_str(&text));
    vs_text_release(&text);
    return path;
}

START_TEST(a_machine_with_its_parts) {
    const struct vs_machine *m = load_hw(whole_machine("\"#devices\", \"#devices\"", "#hosts"));
    ck_assert_uint_eq(m->device_count, 2);
    ck_assert_str_eq(m->devices[1]->name, "toy");
    ck_assert_str_eq(m->host->name, "toy");
    ck_assert_str_eq(m->link->name, "toy");
    ck_assert_str_eq(m->storage->name, "toy");
    refuse((struct vs_machine_request){.hw = whole_machine("", "#gone")},
           "found '#gone', expected a member of \"parts\"");
    refuse((struct vs_machine_request){.hw = whole_machine("", "#none")}, "$.parts.none");
    refuse((struct vs_machine_request){.hw = whole_machine("", "#")}, "found '#'");
    refuse((struct vs_machine_request){.hw = whole_machine("\"#hosts\"", "#hosts")},
           "'vramsim-device/1'");
}
END_TEST

/* The host alone, as with --hw cpu. */
START_TEST(a_machine_without_devices) {
    const struct vs_machine *m = load_hw(whole_machine("", "#hosts"));
    ck_assert_uint_eq(m->device_count, 0);
    ck_assert_str_eq(m->name, "cpu in mine");
    ck_assert_uint_eq(load_hw("desktop-64g")->device_count, 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("hw files");
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, setup_files, teardown_files);
    tcase_add_test(files, a_device_file_of_ones_own);
    tcase_add_test(files, a_capacity_that_is_not_stated_is_derived);
    tcase_add_test(files, a_machine_file_with_devices);
    tcase_add_test(files, a_machine_with_its_parts);
    tcase_add_test(files, a_machine_without_devices);
    tcase_add_test(files, bad_device_files);
    tcase_add_test(files, bad_files_of_other_parts);
    suite_add_tcase(suite, files);
    return run_suite(suite);
}
