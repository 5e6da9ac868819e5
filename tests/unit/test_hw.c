/* Profiles and the machine that they make up: every file of hwprofiles/, values worked by hand, bad
 * input. */
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

static const struct vs_machine *load_set(const char *hw, const char *path, const char *value) {
    struct vs_override o = {path, value};
    return load((struct vs_machine_request){.hw = hw, .overrides = &o, .override_count = 1});
}

static void refuse_set(const char *hw, const char *path, const char *value, const char *message) {
    struct vs_override o = {path, value};
    refuse((struct vs_machine_request){.hw = hw, .overrides = &o, .override_count = 1}, message);
}

/* The files */

START_TEST(every_file_loads_under_its_name) {
    static const char *const KINDS[] = {"devices", "hosts", "links", "storage", "machines"};
    for (size_t k = 0; k < COUNT_OF(KINDS); k++) {
        const char *const *names = NULL;
        size_t count = 0;
        ck_assert(vs_data_list(&arena, vs_arena_printf(&arena, "hwprofiles/%s", KINDS[k]), &names,
                               &count, &err));
        ck_assert_uint_ge(count, 5);
        for (size_t i = 0; i < count; i++) {
            struct vs_device device = {0};
            struct vs_host host = {0};
            struct vs_link link = {0};
            struct vs_storage storage = {0};
            bool ok = true;
            const char *name = names[i];
            if (k == 0 && (ok = vs_device_load(&arena, name, &device, &err)))
                name = device.name;
            else if (k == 1 && (ok = vs_host_load(&arena, name, &host, &err)))
                name = host.name;
            else if (k == 2 && (ok = vs_link_load(&arena, name, &link, &err)))
                name = link.name;
            else if (k == 3 && (ok = vs_storage_load(&arena, name, &storage, &err)))
                name = storage.name;
            ck_assert_msg(ok, "%s: %s", names[i], err.text);
            ck_assert_str_eq(name, names[i]);
        }
    }
}
END_TEST

/* Each device stands in its default machine; each host, link and storage under the toy. */
START_TEST(every_combination_loads) {
    const char *const *names = NULL;
    size_t count = 0;
    ck_assert(vs_data_list(&arena, "hwprofiles/devices", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        const struct vs_machine *m = load_hw(names[i]);
        ck_assert_uint_eq(m->device_count, 1);
        const struct vs_device *d = m->devices[0];
        ck_assert_double_le(d->memory.usable_bytes.value, d->memory.nominal_bytes.value);
        ck_assert(m->unified == (m->link == NULL));
        ck_assert(vs_num_known(m->host->reserved_bytes));
    }
    ck_assert(vs_data_list(&arena, "hwprofiles/hosts", &names, &count, &err));
    for (size_t i = 0; i < count; i++) {
        const struct vs_machine *m =
            load((struct vs_machine_request){.hw = "toy", .host = names[i]});
        ck_assert_str_eq(m->host->name, names[i]);
    }
    ck_assert(vs_data_list(&arena, "hwprofiles/links", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        (void)load((struct vs_machine_request){.hw = "toy", .link = names[i]});
    ck_assert(vs_data_list(&arena, "hwprofiles/storage", &names, &count, &err));
    for (size_t i = 0; i < count; i++)
        (void)load((struct vs_machine_request){.hw = "toy", .storage = names[i]});
}
END_TEST

static const struct vs_json *parse_file(const char *folder, const char *name) {
    const struct vs_json *root = NULL;
    const char *path =
        vs_data_path(&arena, vs_arena_printf(&arena, "hwprofiles/%s/%s.json", folder, name));
    ck_assert_ptr_nonnull(path);
    ck_assert_msg(vs_json_load(&arena, path, &root, &err), "%s", err.text);
    return root;
}

/* A name or an alias means one file only. */
START_TEST(aliases_belong_to_one_file) {
    static const char *const FOLDERS[] = {"devices", "archs",   "hosts",
                                          "links",   "storage", "machines"};
    for (size_t f = 0; f < COUNT_OF(FOLDERS); f++) {
        const char *const *names = NULL, *words[512];
        size_t count = 0, used = 0;
        ck_assert(vs_data_list(&arena, vs_arena_printf(&arena, "hwprofiles/%s", FOLDERS[f]), &names,
                               &count, &err));
        for (size_t i = 0; i < count; i++) {
            const struct vs_json *list =
                vs_json_member(parse_file(FOLDERS[f], names[i]), "aliases");
            words[used++] = names[i];
            for (const struct vs_json *a = list ? list->child : NULL; a; a = a->next)
                words[used++] = a->string;
            ck_assert_uint_lt(used, 400);
        }
        for (size_t i = 0; i < used; i++)
            for (size_t k = 0; k < i; k++)
                ck_assert_msg(!vs_streq(words[i], words[k]), "%s twice", words[i]);
    }
}
END_TEST

static void check_paths(const struct vs_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ck_assert(fields[i].low < fields[i].high);
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(fields[i].path, fields[k].path);
    }
}

START_TEST(tables_name_each_number_once) {
    check_paths(vs_device_fields, vs_device_field_count);
    check_paths(vs_arch_fields, vs_arch_field_count);
    check_paths(vs_host_fields, vs_host_field_count);
    check_paths(vs_link_fields, vs_link_field_count);
    check_paths(vs_storage_fields, vs_storage_field_count);
}
END_TEST

/* Values worked by hand */

START_TEST(rtx4090_in_its_desktop) {
    const struct vs_machine *m = load_hw("rtx4090");
    const struct vs_device *d = m->devices[0];
    ck_assert_str_eq(m->name, "rtx4090 in desktop-64g");
    ck_assert_str_eq(m->hw, "rtx4090");
    ck_assert_str_eq(m->board, "desktop-64g");
    /* torch reports 23.64 GiB of 24. */
    ck_assert_double_eq_tol(d->memory.usable_bytes.value / GIB, 23.64, 1e-6);
    ck_assert_double_eq(d->memory.bandwidth_bytes_per_s.value, 1008e9);
    /* 128 SMs x 512 FLOP x 2.52 GHz = 165.2e12. */
    ck_assert_double_eq_tol(d->compute.bf16_flops.value, 128.0 * 512 * 2.52e9, 0.05e12);
    ck_assert_str_eq(d->arch.name, "ada");
    ck_assert_double_eq(d->arch.gemm_fraction.value, 0.95);
    /* 2 channels x 8 B x 5600 MT/s; 64 GiB, of which the system keeps 4. */
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 89.6e9);
    ck_assert_double_eq(m->host->ram_bytes.value, 64 * GIB);
    ck_assert_double_eq(m->host->reserved_bytes.value, 4 * GIB);
    /* The board has PCIe 5.0, the card 4.0. */
    ck_assert_str_eq(m->link->name, "pcie4x16");
    ck_assert_double_eq(m->link->h2d_bytes_per_s.value, 26e9);
    ck_assert_str_eq(m->storage->name, "nvme-gen4");
    ck_assert(!m->unified);
    ck_assert_uint_eq(m->assumed_count, 0);
}
END_TEST

START_TEST(toy_numbers_are_round) {
    const struct vs_machine *m = load_hw("toy");
    const struct vs_device *d = m->devices[0];
    ck_assert_double_eq(d->memory.usable_bytes.value, 10 * GIB);
    ck_assert_double_eq(d->memory.bandwidth_bytes_per_s.value, 100e9);
    ck_assert_double_eq(d->compute.fp16_flops.value, 10e12);
    ck_assert_double_eq(d->arch.read_fraction.value, 1);
    ck_assert_double_eq(d->arch.kernel_s.value, 0);
    ck_assert_double_eq(m->link->h2d_bytes_per_s.value, 10e9);
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 50e9);
    ck_assert_double_eq(m->storage->read_bytes_per_s.value, 1e9);
    ck_assert_double_eq(m->net_bytes_per_s.value, 1e9);
    ck_assert_uint_eq(m->assumed_count, 0);
}
END_TEST

START_TEST(usable_capacity_comes_from_the_best_source) {
    static const struct {
        const char *name;
        double gib;
        const char *method;
    } CASES[] = {
        {"rtx3060-12g", 11.76, "assumed"}, {"rtx3090", 23.70, "reported"},
        {"rtx4090", 23.64, "reported"},    {"a100-80g-sxm", 79.15, "reported"},
        {"h100-sxm", 79.18, "reported"},   {"m2-ultra-76c", 144, "reported"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        struct vs_device d;
        ck_assert(vs_device_load(&arena, CASES[i].name, &d, &err));
        ck_assert_double_eq_tol(d.memory.usable_bytes.value / GIB, CASES[i].gib, 1e-3);
        ck_assert_str_eq(d.memory.usable_bytes.method, CASES[i].method);
    }
    /* A guess is said. */
    const struct vs_machine *m = load_hw("rtx3060x2");
    ck_assert_uint_eq(m->assumed_count, 1);
    ck_assert(vs_starts(m->assumed[0], "rtx3060-12g: capacity assumed, 11.76 GiB"));
}
END_TEST

START_TEST(short_names_and_default_machines) {
    static const struct {
        const char *word, *name, *link;
    } CASES[] = {
        {"rtx3060", "rtx3060-12g in desktop-64g", "pcie4x16"},
        {"a100", "a100-80g-sxm in server-2t", "pcie4x16"},
        {"a100-80g", "a100-80g-sxm in server-2t", "pcie4x16"},
        {"H100", "h100-sxm in server-2t", "pcie5x16"},
        {"h100-80g", "h100-sxm in server-2t", "pcie5x16"},
        {"h100-80g-sxm", "h100-sxm in server-2t", "pcie5x16"},
        {"m2-ultra", "m2-ultra-76c", NULL},
        {"cpu", "cpu in desktop-64g", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const struct vs_machine *m = load_hw(CASES[i].word);
        ck_assert_str_eq(m->name, CASES[i].name);
        ck_assert_str_eq(m->hw, CASES[i].word);
        ck_assert(vs_streq(m->link ? m->link->name : "", CASES[i].link ? CASES[i].link : ""));
    }
}
END_TEST

START_TEST(unified_memory_is_itself) {
    const struct vs_machine *m = load_hw("m2-ultra-76c");
    ck_assert(m->unified);
    ck_assert_ptr_null(m->board);
    ck_assert_ptr_null(m->link);
    ck_assert_double_eq(m->host->ram_bytes.value, 192 * GIB);
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 800e9);
    ck_assert_uint_eq(m->assumed_count, 0);
    /* 3/4 above 36 GiB, 2/3 up to there. */
    static const struct {
        uint64_t ram_gib;
        double usable_gib;
    } SIZES[] = {{192, 144}, {64, 48}, {96, 72}, {48, 36}, {36, 24}, {24, 16}};
    for (size_t i = 0; i < COUNT_OF(SIZES); i++) {
        m = load(
            (struct vs_machine_request){.hw = "m2-ultra", .ram_bytes = SIZES[i].ram_gib * VS_GIB});
        struct vs_num usable = m->devices[0]->memory.usable_bytes;
        ck_assert_double_eq_tol(usable.value / GIB, SIZES[i].usable_gib, 1e-6);
        ck_assert_str_eq(usable.method, "derived");
        ck_assert_double_eq(m->host->ram_bytes.value, (double)SIZES[i].ram_gib * GIB);
        ck_assert_uint_eq(m->assumed_count, 1);
        ck_assert_ptr_nonnull(strstr(m->assumed[0], "capacity assumed"));
    }
    /* The CPU shares the bandwidth, whatever it is set to. */
    m = load_set("m2-ultra", "device.memory.bandwidth", "400GB/s");
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 400e9);
    m = load_set("m2-ultra", "host.bandwidth", "300GB/s");
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 300e9);
    ck_assert_double_eq(m->devices[0]->memory.bandwidth_bytes_per_s.value, 800e9);
}
END_TEST

START_TEST(several_devices) {
    const struct vs_machine *m = load_hw("rtx4090x2");
    ck_assert_uint_eq(m->device_count, 2);
    ck_assert_ptr_eq(m->devices[0], m->devices[1]);
    ck_assert_str_eq(m->name, "rtx4090x2 in desktop-64g");
    m = load((struct vs_machine_request){.hw = "a100", .gpus = 4});
    ck_assert_uint_eq(m->device_count, 4);
    ck_assert_str_eq(m->name, "a100-80g-sxmx4 in server-2t");
    ck_assert_uint_eq(m->assumed_count, 0);
    m = load_hw("rtx4090+rtx3090x2");
    ck_assert_uint_eq(m->device_count, 3);
    ck_assert_str_eq(m->devices[0]->name, "rtx4090");
    ck_assert_str_eq(m->devices[1]->name, "rtx3090");
    ck_assert_str_eq(m->devices[2]->name, "rtx3090");
    m = load((struct vs_machine_request){.hw = "rtx4090x2", .gpus = 2}); /* says it twice */
    ck_assert_uint_eq(m->device_count, 2);
    m = load((struct vs_machine_request){.hw = "toy", .gpus = VS_DEVICES_MAX});
    ck_assert_uint_eq(m->device_count, VS_DEVICES_MAX);
    /* The slowest link holds for all: H100 has PCIe 5.0, A100 4.0. */
    ck_assert_str_eq(load_hw("h100+a100")->link->name, "pcie4x16");
}
END_TEST

/* Reference nodes: 8 x 200 Gb/s with A100 (200 GB/s), 8 x 400 Gb/s with H100 (400 GB/s). */
START_TEST(network_between_nodes) {
    const struct vs_machine *m = load((struct vs_machine_request){.hw = "a100", .gpus = 16});
    ck_assert_double_eq(m->net_bytes_per_s.value, 200e9);
    ck_assert_uint_eq(m->assumed_count, 1);
    ck_assert(vs_starts(m->assumed[0], "network assumed, 200 GB/s per node"));
    ck_assert_double_eq(load_hw("h100x16")->net_bytes_per_s.value, 400e9);
    m = load((struct vs_machine_request){.hw = "a100", .gpus = 16, .net_bytes_per_s = 25e9});
    ck_assert_double_eq(m->net_bytes_per_s.value, 25e9);
    ck_assert_uint_eq(m->assumed_count, 0);
}
END_TEST

START_TEST(cpu_alone) {
    const struct vs_machine *m = load_hw("cpu");
    ck_assert_uint_eq(m->device_count, 0);
    ck_assert_ptr_null(m->link);
    ck_assert(!m->unified);
    m = load((struct vs_machine_request){.hw = "cpu", .host = "r7950x-ddr5"});
    ck_assert_str_eq(m->name, "cpu in desktop-64g, host r7950x-ddr5");
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 83.2e9);
}
END_TEST

START_TEST(parts_are_replaced) {
    const struct vs_machine *m = load((struct vs_machine_request){.hw = "rtx4090",
                                                                  .host = "workstation-256g",
                                                                  .link = "pcie3x8",
                                                                  .storage = "nvme",
                                                                  .ram_bytes = 128 * VS_GIB});
    ck_assert_str_eq(m->name, "rtx4090 in desktop-64g, host workstation-256g, 128 GiB RAM, "
                              "link pcie3x8, storage nvme-gen4");
    ck_assert_double_eq(m->host->bandwidth_bytes_per_s.value, 307.2e9);
    ck_assert_double_eq(m->host->ram_bytes.value, 128 * GIB);
    ck_assert_str_eq(m->host->ram_bytes.method, "set");
    ck_assert_str_eq(m->link->name, "pcie3x8");
    /* A host may know the slots of its board, and --link wins over them. */
    m = load((struct vs_machine_request){.hw = "rtx3090", .host = "fsdpq-3090x2"});
    ck_assert_str_eq(m->link->name, "pcie3x16");
    m = load(
        (struct vs_machine_request){.hw = "rtx3090", .host = "fsdpq-3090x2", .link = "pcie4x8"});
    ck_assert_str_eq(m->link->name, "pcie4x8");
    /* A wider slot doesn't make the card faster, and that is said. */
    m = load((struct vs_machine_request){.hw = "rtx4090", .link = "pcie5x16"});
    ck_assert_str_eq(m->link->name, "pcie4x16");
    ck_assert_uint_eq(m->assumed_count, 1);
    ck_assert_str_eq(m->assumed[0],
                     "link pcie4x16: the device's own is slower than the pcie5x16 asked for");
}
END_TEST

/* Overrides */

START_TEST(overrides) {
    const struct vs_machine *m = load_set("rtx4090", "device.memory.bandwidth", "900GB/s");
    ck_assert_double_eq(m->devices[0]->memory.bandwidth_bytes_per_s.value, 900e9);
    ck_assert_str_eq(m->devices[0]->memory.bandwidth_bytes_per_s.method, "set");
    m = load_set("rtx4090+rtx3090", "arch.gemm_fraction", "0.5");
    ck_assert_double_eq(m->devices[0]->arch.gemm_fraction.value, 0.5);
    ck_assert_double_eq(m->devices[1]->arch.gemm_fraction.value, 0.5);
    ck_assert_double_eq(load_set("toy", "host.cores", "4")->host->cores.value, 4);
    ck_assert_double_eq(load_set("toy", "link.h2d", "1GB/s")->link->h2d_bytes_per_s.value, 1e9);
    ck_assert_double_eq(load_set("toy", "link.latency", "5us")->link->latency_s.value, 5e-6);
    ck_assert_double_eq(load_set("toy", "storage.read", "2GB/s")->storage->read_bytes_per_s.value,
                        2e9);
    ck_assert_double_eq(
        load_set("toy", "device.compute.clock", "2GHz")->devices[0]->compute.clock_hz.value, 2e9);
    /* The last of two wins. */
    struct vs_override two[] = {{"host.cores", "4"}, {"host.cores", "6"}};
    m = load((struct vs_machine_request){.hw = "toy", .overrides = two, .override_count = 2});
    ck_assert_double_eq(m->host->cores.value, 6);
}
END_TEST

/* Usable capacity and label move together: a 48 GiB card by the rule has 0.98 x 48 = 47.04 GiB. */
START_TEST(capacity_overrides) {
    const struct vs_machine *m = load_set("rtx4090", "device.memory.nominal", "48GiB");
    ck_assert_double_eq_tol(m->devices[0]->memory.usable_bytes.value / GIB, 47.04, 1e-6);
    ck_assert_uint_eq(m->assumed_count, 1);
    ck_assert_ptr_nonnull(strstr(m->assumed[0], "0.98 x label of 48 GiB"));
    m = load_set("rtx4090", "device.memory.usable", "20GiB");
    ck_assert_double_eq(m->devices[0]->memory.usable_bytes.value, 20 * GIB);
    ck_assert_double_eq(m->devices[0]->memory.nominal_bytes.value, 24 * GIB);
    m = load_set("rtx4090", "device.memory.usable", "40GiB");
    ck_assert_double_eq(m->devices[0]->memory.nominal_bytes.value, 40 * GIB);
    ck_assert_uint_eq(m->assumed_count, 0);
    m = load_set("m2-ultra", "device.memory.usable", "170GiB"); /* iogpu.wired_limit_mb */
    ck_assert_double_eq(m->devices[0]->memory.usable_bytes.value, 170 * GIB);
    struct vs_override both[] = {{"device.memory.usable", "40GiB"},
                                 {"device.memory.nominal", "30GiB"}};
    refuse((struct vs_machine_request){.hw = "toy", .overrides = both, .override_count = 2},
           "memory.usable_bytes exceeds memory.nominal_bytes");
}
END_TEST

/* Every number of every table: its bounds are taken, what lies outside is not. */
static void check_bounds(const char *prefix, const struct vs_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_field *f = &fields[i];
        const char *path = vs_arena_printf(&arena, "%s%s", prefix, f->path);
        const char *unit = "";
        if (strstr(f->path, "_bytes_per_s"))
            unit = "B/s";
        else if (strstr(f->path, "_flops"))
            unit = "FLOPS";
        else if (strstr(f->path, "_hz"))
            unit = "Hz";
        else if (strstr(f->path, "_w"))
            unit = strstr(f->path, "_watt") ? "" : "W";
        refuse_set("toy", path, vs_arena_printf(&arena, "-1%s", unit), path);
        refuse_set("toy", path, vs_arena_printf(&arena, "1e30%s", unit), path);
        refuse_set("toy", path, "12parsecs", path);
        refuse_set("toy", path, "nan", path);
        refuse_set("toy", path, "", path);
        if (f->low > 0)
            refuse_set("toy", path, vs_arena_printf(&arena, "0%s", unit), path);
    }
}

START_TEST(override_bounds) {
    check_bounds("device.", vs_device_fields, vs_device_field_count);
    check_bounds("arch.", vs_arch_fields, vs_arch_field_count);
    check_bounds("host.", vs_host_fields, vs_host_field_count);
    check_bounds("link.", vs_link_fields, vs_link_field_count);
    check_bounds("storage.", vs_storage_fields, vs_storage_field_count);
}
END_TEST

START_TEST(bad_overrides) {
    refuse_set("toy", "device.memory.bandwith", "1GB/s",
               "--set device.memory.bandwith: unknown number; nearest in device: "
               "memory.bandwidth, ");
    refuse_set("toy", "disk.read", "1GB/s", "expected a path that begins with device., arch.");
    refuse_set("toy", "device", "1", "expected a path that begins with");
    refuse_set("toy", "device.", "1", "unknown number");
    refuse_set("cpu", "device.memory.bandwidth", "1GB/s", "--hw cpu has no device");
    refuse_set("m2-ultra", "link.h2d", "1GB/s", "--hw m2-ultra has no link");
    refuse_set("m2-ultra", "host.ram", "64GiB", "expected --ram");
}
END_TEST

/* Bad requests */

START_TEST(unknown_names_get_the_nearest) {
    refuse((struct vs_machine_request){.hw = "rtx4900"}, "unknown device 'rtx4900'; nearest: rtx");
    refuse((struct vs_machine_request){.hw = "rtx4900x2"}, "unknown device 'rtx4900x2'; nearest:");
    refuse((struct vs_machine_request){.hw = "rtx4090+rtx99"}, "unknown device 'rtx99'");
    refuse((struct vs_machine_request){.hw = "toy", .host = "desktop"},
           "unknown host 'desktop'; nearest: desktop-64g");
    refuse((struct vs_machine_request){.hw = "toy", .link = "pcie4x1"}, "unknown link 'pcie4x1'");
    refuse((struct vs_machine_request){.hw = "toy", .storage = "tape"}, "unknown storage 'tape'");
    refuse((struct vs_machine_request){.hw = "./none.json"}, "cannot find the device file");
}
END_TEST

START_TEST(absurd_and_contradictory_requests) {
    refuse((struct vs_machine_request){.hw = NULL}, "empty --hw");
    refuse((struct vs_machine_request){.hw = ""}, "empty --hw");
    refuse((struct vs_machine_request){.hw = "toy+"}, "found an empty name");
    refuse((struct vs_machine_request){.hw = "+"}, "found an empty name");
    refuse((struct vs_machine_request){.hw = "toyx0"}, "'toyx0': expected 1 to 1024 devices");
    refuse((struct vs_machine_request){.hw = "toyx1025"}, "expected 1 to 1024 devices");
    refuse((struct vs_machine_request){.hw = "toyx99999999999999999999"}, "expected 1 to 1024");
    refuse((struct vs_machine_request){.hw = "toyx1024+toy"}, "more than 1024 devices");
    refuse((struct vs_machine_request){.hw = "toy", .gpus = 1025}, "--gpus 1025");
    refuse((struct vs_machine_request){.hw = "toyx2", .gpus = 4}, "--gpus 4 contradicts");
    refuse((struct vs_machine_request){.hw = "toy+toy", .gpus = 1}, "--gpus 1 contradicts");
    refuse((struct vs_machine_request){.hw = "cpu", .gpus = 2}, "--gpus 2 contradicts --hw cpu");
    refuse((struct vs_machine_request){.hw = "cpu", .link = "pcie4x16"}, "--link contradicts");
    refuse((struct vs_machine_request){.hw = "m2-ultra", .link = "pcie4x16"}, "--link contradicts");
    refuse((struct vs_machine_request){.hw = "m2-ultra", .host = "toy"}, "--host contradicts");
    refuse((struct vs_machine_request){.hw = "m2-ultra+toy"}, "stands alone");
    refuse((struct vs_machine_request){.hw = "toy", .ram_bytes = 1}, "--ram 1 B is out of range");
    refuse((struct vs_machine_request){.hw = "toy", .ram_bytes = UINT64_MAX}, "out of range");
    refuse((struct vs_machine_request){.hw = "rtx4090", .ram_bytes = 2 * VS_GIB},
           "host RAM of 2 GiB, expected more than the 4 GiB that the system keeps");
    refuse((struct vs_machine_request){.hw = "toy", .net_bytes_per_s = -1}, "--net");
    refuse((struct vs_machine_request){.hw = "toy", .net_bytes_per_s = (double)NAN}, "--net");
    refuse((struct vs_machine_request){.hw = "desktop-64g", .gpus = 2},
           "--gpus 2 contradicts --hw desktop-64g (no devices)");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("hw");
    TCase *tests = tcase_create("profiles");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_file_loads_under_its_name);
    tcase_add_test(tests, every_combination_loads);
    tcase_add_test(tests, aliases_belong_to_one_file);
    tcase_add_test(tests, tables_name_each_number_once);
    tcase_add_test(tests, rtx4090_in_its_desktop);
    tcase_add_test(tests, toy_numbers_are_round);
    tcase_add_test(tests, usable_capacity_comes_from_the_best_source);
    tcase_add_test(tests, short_names_and_default_machines);
    tcase_add_test(tests, unified_memory_is_itself);
    tcase_add_test(tests, several_devices);
    tcase_add_test(tests, network_between_nodes);
    tcase_add_test(tests, cpu_alone);
    tcase_add_test(tests, parts_are_replaced);
    tcase_add_test(tests, overrides);
    tcase_add_test(tests, capacity_overrides);
    tcase_add_test(tests, override_bounds);
    tcase_add_test(tests, bad_overrides);
    tcase_add_test(tests, unknown_names_get_the_nearest);
    tcase_add_test(tests, absurd_and_contradictory_requests);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
