/* What people name exists: every machine of the measured cases, families' short names, default
 * machines by class, and capacities by the best source. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "hw_helpers.h"
#include "unit/suite.h"

/* Names in the measured cases */

static VS_VEC(const char *) seen;

static bool is_new(const char *word) {
    for (size_t i = 0; i < seen.count; i++)
        if (vs_streq(seen.at[i], word))
            return false;
    ck_assert(vs_vec_push(&seen, word));
    return true;
}

/* The word behind `option` in one line of a case file, or NULL. */
static const char *word_behind(const char *line, size_t length, const char *option) {
    const char *at = strstr(line, option);
    if (!at || at >= line + length)
        return NULL;
    at += strlen(option);
    return vs_arena_strndup(&arena, at, strcspn(at, " ,\"\n"));
}

static void check_line(const char *line, size_t length) {
    struct vs_machine_request request = {.hw = word_behind(line, length, "--hw ")};
    if (!request.hw)
        return;
    request.host = word_behind(line, length, "--host ");
    request.link = word_behind(line, length, "--link ");
    const char *key =
        vs_arena_printf(&arena, "%s %s %s", request.hw, request.host ? request.host : "",
                        request.link ? request.link : "");
    if (is_new(key))
        (void)load(request);
}

START_TEST(every_machine_of_the_measured_cases) {
    static const char *const FILES[] = {"llamacpp", "ikllama",  "serving",
                                        "silicon",  "training", "megatron"};
    for (size_t i = 0; i < COUNT_OF(FILES); i++) {
        char *text = NULL;
        size_t length = 0;
        const char *path = vs_arena_printf(&arena, "tests/measured/%s.csv", FILES[i]);
        ck_assert_msg(vs_file_read(&arena, path, 64 << 20, &text, &length, &err), "%s", err.text);
        for (const char *line = text; *line != '\0';) {
            size_t width = strcspn(line, "\n");
            check_line(line, width);
            line += width + (line[width] == '\n');
        }
    }
    ck_assert_uint_ge(seen.count, 90);
    vs_vec_release(&seen);
}
END_TEST

START_TEST(short_names_of_families) {
    static const struct {
        const char *word, *name;
    } CASES[] = {
        {"rtx3060", "rtx3060-12g"},
        {"a100", "a100-80g-sxm"},
        {"h100", "h100-sxm"},
        {"h200", "h200-sxm"},
        {"b200", "b200-sxm"},
        {"v100", "v100-32g-sxm"},
        {"m1", "m1-8c"},
        {"m1-ultra", "m1-ultra-64c"},
        {"m2-max", "m2-max-38c"},
        {"m3-ultra", "m3-ultra-80c"},
        {"m4-max", "m4-max-40c"},
        {"strix-halo", "strix-halo-395"},
        {"dgx-spark", "dgx-spark-gb10"},
        {"gb10", "dgx-spark-gb10"},
        {"A6000", "rtx-a6000"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        ck_assert_str_eq(load_hw(CASES[i].word)->devices[0]->name, CASES[i].name);
}
END_TEST

START_TEST(default_machines_by_class) {
    static const struct {
        const char *device, *machine, *link;
    } CASES[] = {
        {"rtx5090", "desktop-64g", "pcie5x16"},
        {"rx7900xtx", "desktop-64g", "pcie4x16"},
        {"arc-b580", "desktop-64g", "pcie4x8"}, /* eight lanes by design */
        {"rtx4060ti-16g", "desktop-64g", "pcie4x8"},
        {"rtx-a6000", "workstation-256g", "pcie4x16"},
        {"rtxpro6000-bw", "workstation-256g", "pcie5x16"},
        {"a100-40g-sxm", "server-2t", "pcie4x16"},
        {"b300-sxm", "server-2t", "pcie5x16"},
        {"l40s", "server-512g", "pcie4x16"},
        {"a10g", "server-512g", "pcie4x8"}, /* the cloud wires it x8 */
        {"t4", "server-512g", "pcie3x16"},
        {"gh200", "gh200", "nvlink-c2c"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const struct vs_machine *m = load_hw(CASES[i].device);
        ck_assert_str_eq(m->board, CASES[i].machine);
        ck_assert_str_eq(m->link->name, CASES[i].link);
    }
    /* Reference nodes: 4 x 100 Gb/s with V100; 72 x 400 Gb/s in a rack of GB200. */
    ck_assert_double_eq(load_hw("v100x16")->net_bytes_per_s.value, 50e9);
    ck_assert_double_eq(load_hw("gb200x144")->net_bytes_per_s.value, 3600e9);
    ck_assert_double_eq(load_hw("gb200")->devices[0]->node_gpus.value, 72);
}
END_TEST

START_TEST(usable_capacity_by_the_best_source) {
    static const struct {
        const char *name;
        double gib;
        const char *method;
    } CASES[] = {
        {"rtx5090", 31.37, "reported"},        /* torch total */
        {"a100-40g-sxm", 39.3926, "reported"}, /* 42,297,524,224 B */
        {"h200", 139.72, "reported"},          /* lower end of what engines log */
        {"l4", 22.06, "reported"},
        {"rtx-a4000", 15.61, "reported"},
        {"l40s", 44.49, "derived"},    /* 46068 MiB less 0.5 GiB */
        {"rtx3070", 7.65, "derived"},  /* as another card of 8 GB */
        {"rtx4080", 15.68, "derived"}, /* 0.98 x 16 */
        {"h20", 94.56, "derived"},     /* 0.985 x 96 */
        {"mi355x", 287.984, "reported"},
        {"gb10", 121.69, "reported"},
        {"strix-halo", 120, "derived"}, /* 15/16 of 128 */
        {"m3-ultra", 384, "derived"},   /* 3/4 of 512 */
        {"m3-pro", 24, "derived"},      /* 2/3 of 36 */
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const struct vs_machine *m = load_hw(CASES[i].name);
        struct vs_num usable = m->devices[0]->memory.usable_bytes;
        ck_assert_double_eq_tol(usable.value / GIB, CASES[i].gib, 6e-4);
        ck_assert_str_eq(usable.method, CASES[i].method);
        /* What is no log is said to be assumed. */
        bool said = m->assumed_count > 0 && strstr(m->assumed[0], "capacity assumed") != NULL;
        ck_assert_msg(said == !vs_streq(usable.method, "reported"), "%s", CASES[i].name);
    }
    /* Another RAM size: the rule of the chip. */
    const struct vs_machine *m =
        load((struct vs_machine_request){.hw = "gb10", .ram_bytes = 64 * VS_GIB});
    ck_assert_double_eq_tol(m->devices[0]->memory.usable_bytes.value / GIB, 0.9507 * 64, 1e-3);
    m = load((struct vs_machine_request){.hw = "m1-max", .ram_bytes = 32 * VS_GIB});
    ck_assert_double_eq_tol(m->devices[0]->memory.usable_bytes.value / GIB, 32 * 2 / 3.0, 1e-3);
}
END_TEST

/* Inline ECC takes 1/16 of GDDR memory, before the driver takes its share. */
START_TEST(inline_ecc_costs_a_sixteenth) {
    const char *const *names = NULL;
    size_t count = 0, with_ecc = 0;
    ck_assert(vs_data_list(&arena, "hwprofiles/devices", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct vs_device d;
        ck_assert(vs_device_load(&arena, names[i], &d, &err));
        double share = d.memory.usable_bytes.value / d.memory.nominal_bytes.value;
        with_ecc += d.memory.inline_ecc;
        if (d.memory.inline_ecc)
            ck_assert_msg(share <= 15.0 / 16 && share > 0.9, "%s: %g", d.name, share);
    }
    ck_assert_uint_eq(with_ecc, 8);
}
END_TEST

START_TEST(peer_links_exist) {
    const char *const *names = NULL;
    size_t count = 0, with_peer = 0;
    ck_assert(vs_data_list(&arena, "hwprofiles/devices", &names, &count, &err));
    ck_assert_uint_eq(count, 118); /* 117 and the toy */
    for (size_t i = 0; i < count; i++) {
        struct vs_device d;
        struct vs_link link;
        ck_assert(vs_device_load(&arena, names[i], &d, &err));
        if (!d.peer_link)
            continue;
        with_peer++;
        ck_assert_msg(vs_link_load(&arena, d.peer_link, &link, &err), "%s", err.text);
        ck_assert_double_le(link.h2d_bytes_per_s.value, link.spec_bytes_per_s.value);
    }
    ck_assert_uint_ge(with_peer, 15);
}
END_TEST

START_TEST(both_ways_is_less_than_twice_one_way) {
    const char *const *names = NULL;
    size_t count = 0;
    ck_assert(vs_data_list(&arena, "hwprofiles/links", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        struct vs_link l;
        ck_assert(vs_link_load(&arena, names[i], &l, &err));
        double sum = l.h2d_bytes_per_s.value + l.d2h_bytes_per_s.value;
        ck_assert_double_le(l.h2d_bytes_per_s.value, l.spec_bytes_per_s.value);
        ck_assert_double_le(l.duplex_bytes_per_s.value, sum * 1.05);
        if (vs_num_known(l.pageable_bytes_per_s))
            ck_assert_double_le(l.pageable_bytes_per_s.value, l.h2d_bytes_per_s.value);
    }
}
END_TEST

START_TEST(a_host_is_a_machine_without_a_gpu) {
    const struct vs_machine *m = load_hw("epyc-9654-2s");
    ck_assert_uint_eq(m->device_count, 0);
    ck_assert_str_eq(m->host->name, "epyc-9654-2s");
    ck_assert_str_eq(m->name, "cpu in desktop-64g, host epyc-9654-2s");
    ck_assert_ptr_null(m->link);
    refuse((struct vs_machine_request){.hw = "epyc-9654-2s", .gpus = 2},
           "--gpus 2 contradicts --hw epyc-9654-2s");
    refuse((struct vs_machine_request){.hw = "epyc-9654-2s", .host = "toy"},
           "--host contradicts --hw epyc-9654-2s, which is a host");
    refuse((struct vs_machine_request){.hw = "epyc-9654-2s", .link = "toy"},
           "--link contradicts --hw epyc-9654-2s");
    /* A chip's name means its GPU. */
    ck_assert_uint_eq(load_hw("m1-max")->device_count, 1);
}
END_TEST

START_TEST(a_host_may_bring_its_drive) {
    struct vs_machine_request q = {.hw = "t4", .host = "gcp-n1-t4"};
    const struct vs_machine *m = load(q);
    ck_assert_str_eq(m->storage->name, "gcp-local-ssd");
    ck_assert_double_eq(m->storage->read_bytes_per_s.value, 2e9);
    ck_assert_str_eq(load_hw("t4")->storage->name, "nvme-gen4");
    q.storage = "nvme-gen5";
    ck_assert_str_eq(load(q)->storage->name, "nvme-gen5");
}
END_TEST

START_TEST(cloud_instances) {
    const struct vs_machine *m = load_hw("aws-g5.48xlarge");
    ck_assert_uint_eq(m->device_count, 8);
    ck_assert_str_eq(m->devices[7]->name, "a10g");
    ck_assert_str_eq(m->link->name, "pcie4x8");
    ck_assert_double_eq(m->net_bytes_per_s.value, 12.5e9); /* 100 Gb/s */
    /* The card has sixteen lanes; the instance wires eight. */
    ck_assert_str_eq(load_hw("aws-g6.xlarge")->link->name, "pcie4x8");
    ck_assert_str_eq(load_hw("aws-g4dn.xlarge")->link->name, "pcie3x8");
    ck_assert_uint_eq(load_hw("aws-p5.48xlarge")->device_count, 8);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("hw breadth");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, every_machine_of_the_measured_cases);
    tcase_add_test(all, short_names_of_families);
    tcase_add_test(all, default_machines_by_class);
    tcase_add_test(all, usable_capacity_by_the_best_source);
    tcase_add_test(all, inline_ecc_costs_a_sixteenth);
    tcase_add_test(all, peer_links_exist);
    tcase_add_test(all, both_ways_is_less_than_twice_one_way);
    tcase_add_test(all, a_host_is_a_machine_without_a_gpu);
    tcase_add_test(all, a_host_may_bring_its_drive);
    tcase_add_test(all, cloud_instances);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
