#include <string.h>

#include "cli/show.h"
#include "hw/machine.h"

/* A profile's table of numbers, and what holds them. */
struct part {
    const char *prefix; /* of --set paths */
    const struct vs_field *fields;
    size_t field_count;
    const void *object;
};

/* Length of a path without the unit that ends it. */
static size_t bare_length(const char *path) {
    static const char *const UNITS[] = {"_bytes_per_s", "_bytes", "_flops", "_s", "_hz", "_w"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++) {
        size_t unit = strlen(UNITS[i]);
        if (length > unit && vs_streq(path + length - unit, UNITS[i]))
            return length - unit;
    }
    return length;
}

static void add_numbers(struct vs_doc *doc, struct vs_listing *listing, const struct part *part) {
    struct vs_arena *arena = doc->cli->arena;
    for (size_t i = 0; i < part->field_count; i++) {
        const char *path = part->fields[i].path;
        const char *at = (const char *)part->object + part->fields[i].offset;
        const char *full = vs_arena_printf(arena, "%s.%s", part->prefix, path);
        const char *bare =
            vs_arena_printf(arena, "%s.%.*s", part->prefix, (int)bare_length(path), path);
        listing->failed = listing->failed || !full || !bare;
        vs_doc_number(doc, listing, bare, full, path, *(const struct vs_num *)(const void *)at);
    }
}

static void add_device(struct vs_doc *doc, struct vs_listing *listing,
                       const struct vs_device *device) {
    const struct part parts[] = {
        {"device", vs_device_fields, vs_device_field_count, device},
        {"arch", vs_arch_fields, vs_arch_field_count, &device->arch},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_numbers(doc, listing, &parts[i]);
}

/* Devices of one name are shown once. */
static bool shown_before(const struct vs_machine *machine, size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (vs_streq(machine->devices[i]->name, machine->devices[index]->name))
            return true;
    }
    return false;
}

static void show_device(struct vs_doc *doc, const struct vs_device *device) {
    static const char *const KINDS[] = {[VS_DEVICE_DISCRETE] = "a card with its own memory",
                                        [VS_DEVICE_UNIFIED] = "shares one memory with the CPU",
                                        [VS_DEVICE_CPU] = "a CPU"};
    struct vs_listing numbers;
    vs_doc_begin(doc, "device", device->name, device->title, device->file);
    vs_doc_property(doc, "vendor", vs_cell_text(device->vendor));
    vs_doc_property(doc, "type", vs_cell_text(KINDS[device->kind]));
    vs_doc_property(doc, "arch", vs_cell_text(device->arch.name));
    vs_doc_property(doc, "memory", vs_cell_text(device->memory.kind));
    vs_doc_property(doc, "link", vs_cell_text(device->link));
    vs_doc_property(doc, "machine", vs_cell_text(device->machine));
    vs_doc_numbers_begin(&numbers, "Numbers");
    add_device(doc, &numbers, device);
    vs_doc_section(doc, &numbers);
    vs_doc_end(doc);
    vs_listing_release(&numbers);
}

static const struct vs_listing_column ASSUMED_COLUMNS[] = {{"", "what", false, true}};

static void show_assumed(struct vs_doc *doc, const struct vs_machine *machine) {
    struct vs_listing listing = {
        .heading = "Assumed", .key = "assumed", .columns = ASSUMED_COLUMNS, .column_count = 1};
    for (size_t i = 0; i < machine->assumed_count; i++) {
        const struct vs_cell cell = vs_cell_text(machine->assumed[i]);
        vs_listing_add(&listing, &cell);
    }
    vs_doc_section(doc, &listing);
    vs_listing_release(&listing);
}

/* The rest of the machine: host, link, storage, network. */
static void show_machine(struct vs_doc *doc, const struct vs_machine *machine) {
    struct vs_listing numbers;
    const struct part parts[] = {
        {"host", vs_host_fields, vs_host_field_count, machine->host},
        {"link", vs_link_fields, vs_link_field_count, machine->link},
        {"storage", vs_storage_fields, vs_storage_field_count, machine->storage},
    };
    vs_doc_begin(doc, "machine", machine->name, machine->unified ? "one memory" : NULL, NULL);
    vs_doc_property(doc, "devices",
                    vs_cell_number(doc->cli->arena, (double)machine->device_count, NULL));
    if (machine->host)
        vs_doc_property(doc, "host", vs_cell_text(machine->host->title));
    if (machine->link)
        vs_doc_property(doc, "link", vs_cell_text(machine->link->title));
    if (machine->storage)
        vs_doc_property(doc, "storage", vs_cell_text(machine->storage->title));
    show_assumed(doc, machine);
    vs_doc_numbers_begin(&numbers, "Numbers");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].object)
            add_numbers(doc, &numbers, &parts[i]);
    }
    vs_doc_number(doc, &numbers, "net", "net_bytes_per_s", "net_bytes_per_s",
                  machine->net_bytes_per_s);
    vs_doc_section(doc, &numbers);
    vs_doc_end(doc);
    vs_listing_release(&numbers);
}

bool vs_show_hw(struct vs_doc *doc, const char *name, struct vs_err *err) {
    const struct vs_machine_request request = {.hw = name};
    const struct vs_machine *machine = NULL;
    if (!vs_machine_load(doc->cli->arena, &request, &machine, err))
        return false;
    for (size_t i = 0; i < machine->device_count; i++) {
        if (!shown_before(machine, i))
            show_device(doc, machine->devices[i]);
    }
    show_machine(doc, machine);
    return true;
}

bool vs_show_host(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_host host;
    struct vs_listing numbers;
    if (!vs_host_load(doc->cli->arena, name, &host, err))
        return false;
    const struct part part = {"host", vs_host_fields, vs_host_field_count, &host};
    vs_doc_begin(doc, "host", host.name, host.title, host.file);
    vs_doc_numbers_begin(&numbers, "Numbers");
    add_numbers(doc, &numbers, &part);
    vs_doc_section(doc, &numbers);
    vs_doc_end(doc);
    vs_listing_release(&numbers);
    return true;
}
