#include "cli/list_hw.h"

#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "hw/machine.h"

enum { NEAREST_SIZE = 200 };
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static void set_columns(struct vs_listing *listing, const struct vs_listing_column *columns,
                        size_t count) {
    listing->columns = columns;
    listing->column_count = count;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "l4" < "l40" < "a100": digits compare as numbers. */
static int compare_natural(const char *a, const char *b) {
    while (*a != '\0' && *b != '\0') {
        if (is_digit(*a) && is_digit(*b)) {
            char *a_end = NULL, *b_end = NULL;
            unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = a_end;
            b = b_end;
            continue;
        }
        if (*a != *b)
            return *a < *b ? -1 : 1;
        a++;
        b++;
    }
    return (*a != '\0') - (*b != '\0');
}

static int compare_names(const void *a, const void *b) {
    return compare_natural(*(const char *const *)a, *(const char *const *)b);
}

typedef bool (*add_row)(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                        struct vs_err *err);

static bool each_file(struct vs_cli *cli, const char *folder, add_row add,
                      struct vs_listing *listing, struct vs_err *err) {
    const char *const *names = NULL;
    size_t count = 0;
    if (!vs_data_list(cli->arena, folder, &names, &count, err))
        return false;
    const char **sorted = VS_NEW_ARRAY(cli->arena, const char *, count + 1);
    if (!sorted)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = names[i];
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++)
        if (!add(cli, sorted[i], listing, err))
            return false;
    return true;
}

/* Devices. A table has no room for all that programs get. */

static const struct vs_listing_column HW_COLUMNS[] = {
    {"name", "name", false, false},
    {"vendor", "vendor", false, false},
    {"memory", NULL, true, false},
    {NULL, "usable_bytes", false, false},
    {NULL, "usable_method", false, false},
    {NULL, "nominal_bytes", false, false},
    {"bandwidth", "bandwidth_bytes_per_s", true, false},
    {"fp16", "fp16_flops", true, false},
    {NULL, "bf16_flops", false, false},
    {"link", "link", false, false},
    {NULL, "machine", false, false},
    {"what", NULL, false, true},
    {NULL, "title", false, false},
};

static bool is_guess(struct vs_num n) {
    return n.method && (vs_streq(n.method, "derived") || vs_streq(n.method, "assumed"));
}

/* The title without the vendor, which has a column. */
static const char *short_title(const struct vs_device *device) {
    size_t length = strlen(device->vendor);
    const char *title = device->title;
    for (size_t i = 0; i < length; i++) {
        char c = title[i] >= 'A' && title[i] <= 'Z' ? (char)(title[i] - 'A' + 'a') : title[i];
        if (c != device->vendor[i])
            return title;
    }
    return title[length] == ' ' ? title + length + 1 : title;
}

static void add_device(struct vs_cli *cli, const struct vs_device *device,
                       struct vs_listing *listing) {
    struct vs_num usable = device->memory.usable_bytes;
    struct vs_cell memory = vs_cell_num(cli->arena, "usable_bytes", usable);
    const char *marked =
        vs_arena_printf(cli->arena, "%s%s", is_guess(usable) ? "~" : "", memory.text);
    const struct vs_cell cells[COUNT_OF(HW_COLUMNS)] = {
        vs_cell_text(device->name),
        vs_cell_text(device->vendor),
        vs_cell_text(marked),
        memory,
        vs_cell_text(usable.method),
        vs_cell_num(cli->arena, "nominal_bytes", device->memory.nominal_bytes),
        vs_cell_num(cli->arena, "bandwidth_bytes_per_s", device->memory.bandwidth_bytes_per_s),
        vs_cell_num(cli->arena, "fp16_flops", device->compute.fp16_flops),
        vs_cell_num(cli->arena, "bf16_flops", device->compute.bf16_flops),
        vs_cell_text(device->link),
        vs_cell_text(device->machine),
        vs_cell_text(short_title(device)),
        vs_cell_text(device->title),
    };
    listing->failed = listing->failed || !marked;
    vs_listing_add(listing, cells);
}

static int compare_devices(const void *a, const void *b) {
    const struct vs_device *x = a, *y = b;
    int order = strcmp(x->vendor, y->vendor);
    return order != 0 ? order : compare_natural(x->name, y->name);
}

static bool load_devices(struct vs_cli *cli, struct vs_device **devices, size_t *count,
                         struct vs_err *err) {
    const char *const *names = NULL;
    if (!vs_data_list(cli->arena, "hwprofiles/devices", &names, count, err))
        return false;
    *devices = VS_NEW_ARRAY(cli->arena, struct vs_device, *count + 1);
    if (!*devices)
        return vs_err_nomem(err);
    for (size_t i = 0; i < *count; i++)
        if (!vs_device_load(cli->arena, names[i], &(*devices)[i], err))
            return false;
    qsort(*devices, *count, sizeof **devices, compare_devices);
    return true;
}

/* A vendor that nobody is would give an empty table without a word. */
static bool check_vendor(struct vs_cli *cli, const struct vs_device *devices, size_t count,
                         struct vs_err *err) {
    const char *vendor = cli->values.vendor;
    char nearest[NEAREST_SIZE];
    size_t vendors = 0;
    const char **all = VS_NEW_ARRAY(cli->arena, const char *, count + 1);
    if (!all)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        if (!vendor || vs_streq(devices[i].vendor, vendor))
            return true;
        if (vendors == 0 || !vs_streq(all[vendors - 1], devices[i].vendor))
            all[vendors++] = devices[i].vendor;
    }
    vs_nearest(vendor, all, vendors, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "unknown vendor '%.80s'; nearest: %s", vendor, nearest);
}

bool vs_list_hw(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    struct vs_device *devices = NULL;
    const char *vendor = cli->values.vendor;
    size_t count = 0;
    set_columns(listing, HW_COLUMNS, COUNT_OF(HW_COLUMNS));
    if (!load_devices(cli, &devices, &count, err) ||
        (vendor && !check_vendor(cli, devices, count, err)))
        return false;
    for (size_t i = 0; i < count; i++) {
        double nominal = devices[i].memory.nominal_bytes.value;
        if ((!vendor || vs_streq(vendor, devices[i].vendor)) &&
            nominal >= (double)cli->values.min_memory_bytes)
            add_device(cli, &devices[i], listing);
    }
    return true;
}

/* Machines */

static const struct vs_listing_column MACHINE_COLUMNS[] = {
    {"name", "name", false, false},  {"devices", "devices", false, false},
    {"host", "host", false, false},  {"link", "link", false, false},
    {"title", "title", false, true}, {NULL, "storage", false, false},
};

static bool add_machine(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                        struct vs_err *err) {
    struct vs_board board;
    const char *devices = NULL;
    if (!vs_board_read(cli->arena, name, &board, err))
        return false;
    for (size_t i = 0; i < board.device_count; i++)
        devices = vs_arena_printf(cli->arena, "%s%s%s", devices ? devices : "", i > 0 ? "+" : "",
                                  board.devices[i]);
    const struct vs_cell cells[COUNT_OF(MACHINE_COLUMNS)] = {
        vs_cell_text(board.name), vs_cell_text(devices),     vs_cell_text(board.host),
        vs_cell_text(board.link), vs_cell_text(board.title), vs_cell_text(board.storage),
    };
    vs_listing_add(listing, cells);
    return true;
}

bool vs_list_machines(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    set_columns(listing, MACHINE_COLUMNS, COUNT_OF(MACHINE_COLUMNS));
    return each_file(cli, "hwprofiles/machines", add_machine, listing, err);
}

/* Hosts, links, storage */

static const struct vs_listing_column HOST_COLUMNS[] = {
    {"name", "name", false, false},
    {"memory", "ram_bytes", true, false},
    {"bandwidth", "bandwidth_bytes_per_s", true, false},
    {"cores", "cores", true, false},
    {"title", "title", false, true},
};

static bool add_host(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                     struct vs_err *err) {
    struct vs_host host;
    if (!vs_host_load(cli->arena, name, &host, err))
        return false;
    const struct vs_cell cells[COUNT_OF(HOST_COLUMNS)] = {
        vs_cell_text(host.name),
        vs_cell_num(cli->arena, "ram_bytes", host.ram_bytes),
        vs_cell_num(cli->arena, "bandwidth_bytes_per_s", host.bandwidth_bytes_per_s),
        vs_cell_num(cli->arena, "cores", host.cores),
        vs_cell_text(host.title),
    };
    vs_listing_add(listing, cells);
    return true;
}

bool vs_list_hosts(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    set_columns(listing, HOST_COLUMNS, COUNT_OF(HOST_COLUMNS));
    return each_file(cli, "hwprofiles/hosts", add_host, listing, err);
}

static const struct vs_listing_column LINK_COLUMNS[] = {
    {"name", "name", false, false},
    {"to device", "h2d_bytes_per_s", true, false},
    {"to host", "d2h_bytes_per_s", true, false},
    {"both ways", "duplex_bytes_per_s", true, false},
    {"pageable", "pageable_bytes_per_s", true, false},
    {"title", "title", false, true},
};

static bool add_link(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                     struct vs_err *err) {
    struct vs_link link;
    if (!vs_link_load(cli->arena, name, &link, err))
        return false;
    const struct vs_cell cells[COUNT_OF(LINK_COLUMNS)] = {
        vs_cell_text(link.name),
        vs_cell_num(cli->arena, "h2d_bytes_per_s", link.h2d_bytes_per_s),
        vs_cell_num(cli->arena, "d2h_bytes_per_s", link.d2h_bytes_per_s),
        vs_cell_num(cli->arena, "duplex_bytes_per_s", link.duplex_bytes_per_s),
        vs_cell_num(cli->arena, "pageable_bytes_per_s", link.pageable_bytes_per_s),
        vs_cell_text(link.title),
    };
    vs_listing_add(listing, cells);
    return true;
}

bool vs_list_links(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    set_columns(listing, LINK_COLUMNS, COUNT_OF(LINK_COLUMNS));
    return each_file(cli, "hwprofiles/links", add_link, listing, err);
}

static const struct vs_listing_column STORAGE_COLUMNS[] = {
    {"name", "name", false, false},
    {"capacity", "capacity_bytes", true, false},
    {"read", "read_bytes_per_s", true, false},
    {"write", "write_bytes_per_s", true, false},
    {"title", "title", false, true},
};

static bool add_storage(struct vs_cli *cli, const char *name, struct vs_listing *listing,
                        struct vs_err *err) {
    struct vs_storage storage;
    if (!vs_storage_load(cli->arena, name, &storage, err))
        return false;
    const struct vs_cell cells[COUNT_OF(STORAGE_COLUMNS)] = {
        vs_cell_text(storage.name),
        vs_cell_num(cli->arena, "capacity_bytes", storage.capacity_bytes),
        vs_cell_num(cli->arena, "read_bytes_per_s", storage.read_bytes_per_s),
        vs_cell_num(cli->arena, "write_bytes_per_s", storage.write_bytes_per_s),
        vs_cell_text(storage.title),
    };
    vs_listing_add(listing, cells);
    return true;
}

bool vs_list_storage(struct vs_cli *cli, struct vs_listing *listing, struct vs_err *err) {
    set_columns(listing, STORAGE_COLUMNS, COUNT_OF(STORAGE_COLUMNS));
    return each_file(cli, "hwprofiles/storage", add_storage, listing, err);
}
