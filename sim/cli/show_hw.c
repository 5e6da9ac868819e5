#include <string.h>

#include "base/json.h"
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

/* What a profile says in words: other names of it, and what one should know about it. */
static void show_words(struct vs_doc *doc, const char *file) {
    const struct vs_json *root = NULL, *list = NULL, *about = NULL;
    struct vs_err ignored;
    const char *names = NULL;
    if (!vs_json_load(doc->cli->arena, file, &root, &ignored) || root->kind != VS_JSON_OBJECT)
        return;
    list = vs_json_member(root, "aliases");
    for (const struct vs_json *a = list ? list->child : NULL; a && a->string; a = a->next)
        names = vs_arena_printf(doc->cli->arena, "%s%s%s", names ? names : "", names ? " " : "",
                                a->string);
    about = vs_json_member(root, "about");
    vs_doc_property(doc, "aliases", vs_cell_text(names));
    vs_doc_property(doc, "about", vs_cell_text(about ? about->string : NULL));
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
    show_words(doc, device->file);
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

/* A profile that is one table of numbers. */
static void show_part(struct vs_doc *doc, const struct part *part, const char *name,
                      const char *title, const char *file) {
    struct vs_listing numbers;
    vs_doc_begin(doc, part->prefix, name, title, file);
    show_words(doc, file);
    vs_doc_numbers_begin(&numbers, "Numbers");
    add_numbers(doc, &numbers, part);
    vs_doc_section(doc, &numbers);
    vs_doc_end(doc);
    vs_listing_release(&numbers);
}

bool vs_show_host(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_host host;
    if (!vs_host_load(doc->cli->arena, name, &host, err))
        return false;
    const struct part part = {"host", vs_host_fields, vs_host_field_count, &host};
    show_part(doc, &part, host.name, host.title, host.file);
    return true;
}

bool vs_show_link(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_link link;
    if (!vs_link_load(doc->cli->arena, name, &link, err))
        return false;
    const struct part part = {"link", vs_link_fields, vs_link_field_count, &link};
    show_part(doc, &part, link.name, link.title, link.file);
    return true;
}

bool vs_show_storage(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_storage storage;
    if (!vs_storage_load(doc->cli->arena, name, &storage, err))
        return false;
    const struct part part = {"storage", vs_storage_fields, vs_storage_field_count, &storage};
    show_part(doc, &part, storage.name, storage.title, storage.file);
    return true;
}

bool vs_show_board(struct vs_doc *doc, const char *name, struct vs_err *err) {
    struct vs_board board;
    struct vs_listing numbers;
    if (!vs_board_read(doc->cli->arena, name, &board, err))
        return false;
    if (board.device_count > 0)
        return vs_show_hw(doc, name, err);
    vs_doc_begin(doc, "machine", board.name, board.title, board.file);
    vs_doc_property(doc, "host", vs_cell_text(board.host));
    vs_doc_property(doc, "link", vs_cell_text(board.link));
    vs_doc_property(doc, "storage", vs_cell_text(board.storage));
    vs_doc_numbers_begin(&numbers, "Numbers");
    vs_doc_number(doc, &numbers, "reserved", "reserved_bytes", "reserved_bytes",
                  board.reserved_bytes);
    vs_doc_section(doc, &numbers);
    vs_doc_end(doc);
    vs_listing_release(&numbers);
    return true;
}
