#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "hw/parts.h"

/* Size of --ram that can be meant. */
#define RAM_LOW VS_GIB
#define RAM_HIGH (1024 * 1024 * VS_GIB)

/* A machine while it is put together. The parts that overrides change are still writable. */
struct building {
    struct vs_arena *arena;
    const struct vs_machine_request *request;
    struct vs_hw_choice choice;
    struct vs_board board;
    struct vs_host *host;
    struct vs_link *link; /* NULL with unified memory and without devices */
    struct vs_storage *storage;
    struct vs_machine *machine;
    VS_VEC(const char *) assumed; /* strings of the arena */
};

static bool is_unified(const struct building *b) {
    return b->choice.piece_count > 0 && b->choice.pieces[0].device->kind == VS_DEVICE_UNIFIED;
}

/* Adds a sentence of the arena, once. */
static bool assume(struct building *b, const char *sentence, struct vs_err *err) {
    for (size_t i = 0; sentence && i < b->assumed.count; i++)
        if (vs_streq(b->assumed.at[i], sentence))
            return true;
    return (sentence && vs_vec_push(&b->assumed, sentence)) || vs_err_nomem(err);
}

static struct vs_num from_command_line(double value) {
    return (struct vs_num){.value = value, .method = "set", .source = "command line"};
}

/* Checks what does not need any file. */
static bool check_request(const struct vs_machine_request *q, struct vs_err *err) {
    char low[VS_UNIT_TEXT], high[VS_UNIT_TEXT], found[VS_UNIT_TEXT];
    if (!q->hw || q->hw[0] == '\0')
        return vs_err_set(err, VS_ERR_INPUT, "empty --hw, expected a device such as rtx4090");
    if (q->ram_bytes != 0 && (q->ram_bytes < RAM_LOW || q->ram_bytes > RAM_HIGH))
        return vs_err_set(err, VS_ERR_INPUT, "--ram %s is out of range, expected %s to %s",
                          vs_print_bytes(found, q->ram_bytes), vs_print_bytes(low, RAM_LOW),
                          vs_print_bytes(high, RAM_HIGH));
    if (!(q->net_bytes_per_s >= 0 && q->net_bytes_per_s <= 1e15))
        return vs_err_set(err, VS_ERR_INPUT, "--net is out of range, expected up to 1 PB/s");
    return true;
}

static bool read_board(struct building *b, struct vs_err *err) {
    const char *name = "desktop-64g"; /* of --hw cpu */
    if (b->choice.board)
        name = b->choice.board;
    else if (b->choice.piece_count > 0)
        name = b->choice.pieces[0].device->machine;
    if (!vs_board_read(b->arena, name, &b->board, err))
        return false;
    if (is_unified(b) && (b->request->host || b->request->link))
        return vs_err_set(err, VS_ERR_INPUT,
                          "--%s contradicts --hw %.100s, whose memory is unified",
                          b->request->host ? "host" : "link", b->request->hw);
    if (b->choice.device_count == 0 && b->request->link)
        return vs_err_set(err, VS_ERR_INPUT, "--link contradicts --hw %.100s", b->request->hw);
    if (b->choice.host && b->request->host)
        return vs_err_set(err, VS_ERR_INPUT, "--host contradicts --hw %.100s, which is a host",
                          b->request->hw);
    return true;
}

/* The slower of the devices' links and the board's slot. */
static bool choose_link(struct building *b, struct vs_err *err) {
    const struct vs_machine_request *q = b->request;
    const char *slot = q->link ? q->link : b->board.link;
    if (!q->link && q->host && b->host->link)
        slot = b->host->link;
    struct vs_link best = {0}, other;
    for (size_t i = 0; i < b->choice.piece_count; i++) {
        if (!vs_link_load(b->arena, b->choice.pieces[i].device->link, &other, err))
            return false;
        if (i == 0 || other.spec_bytes_per_s.value < best.spec_bytes_per_s.value)
            best = other;
    }
    if (slot) {
        if (!vs_link_load(b->arena, slot, &other, err))
            return false;
        if (other.spec_bytes_per_s.value < best.spec_bytes_per_s.value)
            best = other;
        else if (q->link && other.spec_bytes_per_s.value > best.spec_bytes_per_s.value &&
                 !assume(b,
                         vs_arena_printf(b->arena,
                                         "link %s: the device's own is slower than the "
                                         "%s asked for",
                                         best.name, other.name),
                         err))
            return false;
    }
    *b->link = best;
    return true;
}

static bool read_parts(struct building *b, struct vs_err *err) {
    const struct vs_machine_request *q = b->request;
    b->host = VS_NEW(b->arena, struct vs_host);
    b->storage = VS_NEW(b->arena, struct vs_storage);
    if (!b->host || !b->storage)
        return vs_err_nomem(err);
    const char *host = q->host ? q->host : b->choice.host;
    if (!vs_host_load(b->arena, host ? host : b->board.host, b->host, err))
        return false;
    const char *storage = host && b->host->storage ? b->host->storage : b->board.storage;
    if (!vs_storage_load(b->arena, q->storage ? q->storage : storage, b->storage, err))
        return false;
    if (!vs_num_known(b->host->reserved_bytes))
        b->host->reserved_bytes = b->board.reserved_bytes;
    if (q->ram_bytes > 0)
        b->host->ram_bytes = from_command_line((double)q->ram_bytes);
    if (b->choice.device_count == 0 || is_unified(b))
        return true;
    b->link = VS_NEW(b->arena, struct vs_link);
    if (!b->link)
        return vs_err_nomem(err);
    return choose_link(b, err);
}

/* The parts that --set can reach. */
enum part { PART_DEVICE, PART_ARCH, PART_HOST, PART_LINK, PART_STORAGE, PART_COUNT };

static const struct part_table {
    const char *prefix; /* with the dot */
    const struct vs_field *fields;
    const size_t *count;
} parts[PART_COUNT] = {
    [PART_DEVICE] = {"device.", vs_device_fields, &vs_device_field_count},
    [PART_ARCH] = {"arch.", vs_arch_fields, &vs_arch_field_count},
    [PART_HOST] = {"host.", vs_host_fields, &vs_host_field_count},
    [PART_LINK] = {"link.", vs_link_fields, &vs_link_field_count},
    [PART_STORAGE] = {"storage.", vs_storage_fields, &vs_storage_field_count},
};

/* Object number `index` of a part; NULL after the last. */
static void *part_object(const struct building *b, enum part part, size_t index) {
    bool device = part == PART_DEVICE || part == PART_ARCH;
    if (index >= (device ? b->choice.piece_count : 1))
        return NULL;
    switch (part) {
    case PART_DEVICE:
        return b->choice.pieces[index].device;
    case PART_ARCH:
        return &b->choice.pieces[index].device->arch;
    case PART_HOST:
        return b->host;
    case PART_LINK:
        return b->link;
    case PART_STORAGE:
        return b->storage;
    case PART_COUNT:
        break;
    }
    return NULL;
}

static bool unknown_path(const struct part_table *table, const char *path, struct vs_arena *arena,
                         struct vs_err *err) {
    char nearest[256];
    const char **names = VS_NEW_ARRAY(arena, const char *, *table->count);
    if (!names)
        return vs_err_nomem(err);
    for (size_t i = 0; i < *table->count; i++) {
        const struct vs_field *field = &table->fields[i];
        names[i] = vs_arena_strndup(arena, field->path, vs_field_name_length(field));
        if (!names[i])
            return vs_err_nomem(err);
    }
    vs_nearest(path + strlen(table->prefix), names, *table->count, nearest, sizeof nearest);
    return vs_err_set(err, VS_ERR_INPUT, "--set %.100s: unknown number; nearest in %.*s: %s", path,
                      (int)strlen(table->prefix) - 1, table->prefix, nearest);
}

static bool override_part(struct building *b, enum part part, const struct vs_override *o,
                          struct vs_err *err) {
    const struct part_table *table = &parts[part];
    struct vs_err why = {0};
    if (!part_object(b, part, 0))
        return vs_err_set(err, VS_ERR_INPUT, "--set %.100s: --hw %.100s has no %.*s", o->path,
                          b->request->hw, (int)strlen(table->prefix) - 1, table->prefix);
    for (size_t i = 0; part_object(b, part, i); i++) {
        bool found = false;
        if (!vs_fields_set(table->fields, *table->count, part_object(b, part, i),
                           o->path + strlen(table->prefix), o->value, &found, &why))
            return vs_err_set(err, why.status, "--set %.100s: %s", o->path, why.text);
        if (!found)
            return unknown_path(table, o->path, b->arena, err);
    }
    return true;
}

static bool apply_overrides(struct building *b, struct vs_err *err) {
    for (size_t i = 0; i < b->request->override_count; i++) {
        const struct vs_override *o = &b->request->overrides[i];
        size_t part = 0;
        while (part < PART_COUNT && !vs_starts(o->path, parts[part].prefix))
            part++;
        if (part == PART_COUNT)
            return vs_err_set(err, VS_ERR_INPUT,
                              "--set %.100s: expected a path that begins with device., arch., "
                              "host., link. or storage.",
                              o->path);
        if (is_unified(b) && (vs_streq(o->path, "host.ram") || vs_streq(o->path, "host.ram_bytes")))
            return vs_err_set(err, VS_ERR_INPUT, "--set %s: memory is unified, expected --ram",
                              o->path);
        if (!override_part(b, (enum part)part, o, err))
            return false;
    }
    return true;
}

/* CPU and GPU share one memory and its bandwidth; `--set host.bandwidth` may still say otherwise.
 */
static void share_memory(const struct vs_device *device, struct vs_host *host) {
    host->ram_bytes = device->memory.nominal_bytes;
    if (!vs_streq(host->bandwidth_bytes_per_s.method, "set"))
        host->bandwidth_bytes_per_s = device->memory.bandwidth_bytes_per_s;
}

/* Capacities, after all that the command line says. */
static bool settle(struct building *b, struct vs_err *err) {
    for (size_t i = 0; i < b->choice.piece_count; i++) {
        struct vs_device *device = b->choice.pieces[i].device;
        if (!vs_device_settle(b->arena, device, b->request->ram_bytes, err))
            return false;
        struct vs_num usable = device->memory.usable_bytes;
        bool guess = vs_streq(usable.method, "derived") || vs_streq(usable.method, "assumed");
        char size[VS_UNIT_TEXT];
        if (guess &&
            !assume(b,
                    vs_arena_printf(b->arena, "%s: capacity assumed, %s (%s)", device->name,
                                    vs_print_bytes(size, (uint64_t)usable.value), usable.source),
                    err))
            return false;
    }
    if (is_unified(b))
        share_memory(b->choice.pieces[0].device, b->host);
    if (b->host->reserved_bytes.value >= b->host->ram_bytes.value) {
        char ram[VS_UNIT_TEXT], kept[VS_UNIT_TEXT];
        return vs_err_set(err, VS_ERR_INPUT,
                          "host RAM of %s, expected more than the %s that the "
                          "system keeps",
                          vs_print_bytes(ram, (uint64_t)b->host->ram_bytes.value),
                          vs_print_bytes(kept, (uint64_t)b->host->reserved_bytes.value));
    }
    return true;
}

/* Devices form nodes of the size that the first one's file states, unless the request says how
 * many nodes there are. */
static bool settle_nodes(struct building *b, struct vs_err *err) {
    size_t count = b->choice.device_count;
    unsigned nodes = b->request->nodes;
    if (nodes > 0 && (count == 0 || count % nodes != 0))
        return vs_err_at(err, NULL, 0, 0, "--nodes %u: %zu devices do not fill so many equal nodes",
                         nodes, count);
    double size = b->choice.piece_count > 0 ? b->choice.pieces[0].device->node_gpus.value : 1;
    b->machine->node_devices = nodes > 0 ? (unsigned)(count / nodes) : (unsigned)size;
    return true;
}

static bool settle_net(struct building *b, struct vs_err *err) {
    struct vs_num *net = &b->machine->net_bytes_per_s;
    const struct vs_device *first = b->choice.piece_count > 0 ? b->choice.pieces[0].device : NULL;
    if (b->request->net_bytes_per_s > 0) {
        *net = from_command_line(b->request->net_bytes_per_s);
        return true;
    }
    if (!vs_board_net(b->arena, &b->board, first ? first->arch.name : NULL, net, err))
        return false;
    if (!first || b->choice.device_count <= b->machine->node_devices || !vs_num_known(*net))
        return true;
    char rate[VS_UNIT_TEXT];
    return assume(b,
                  vs_arena_printf(b->arena, "network assumed, %s per node (%s)",
                                  vs_print_rate(rate, net->value), net->source),
                  err);
}

static bool list_devices(struct building *b, struct vs_err *err) {
    const struct vs_device **list =
        VS_NEW_ARRAY(b->arena, const struct vs_device *, b->choice.device_count + 1);
    if (!list)
        return vs_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < b->choice.piece_count; i++)
        for (unsigned k = 0; k < b->choice.pieces[i].count; k++)
            list[count++] = b->choice.pieces[i].device;
    b->machine->devices = list;
    b->machine->device_count = count;
    return true;
}

/* "rtx4090x2 in desktop-64g, host r7950x-96g": what was taken, in the names of the files. */
static const char *full_name(struct building *b, struct vs_err *err) {
    const struct vs_machine_request *q = b->request;
    struct vs_text text = {0};
    char size[VS_UNIT_TEXT];
    for (size_t i = 0; i < b->choice.piece_count; i++) {
        const struct vs_hw_piece *piece = &b->choice.pieces[i];
        vs_text_printf(&text, "%s%s", i > 0 ? "+" : "", piece->device->name);
        if (piece->count > 1)
            vs_text_printf(&text, "x%u", piece->count);
    }
    if (b->choice.piece_count == 0)
        vs_text_add(&text, "cpu");
    if (!is_unified(b))
        vs_text_printf(&text, " in %s", b->board.name);
    if (q->nodes > 0)
        vs_text_printf(&text, ", %u node%s", q->nodes, q->nodes == 1 ? "" : "s");
    if (q->host || b->choice.host)
        vs_text_printf(&text, ", host %s", b->host->name);
    if (q->ram_bytes > 0)
        vs_text_printf(&text, ", %s RAM", vs_print_bytes(size, q->ram_bytes));
    if (q->link)
        vs_text_printf(&text, ", link %s", b->link->name);
    if (q->storage)
        vs_text_printf(&text, ", storage %s", b->storage->name);
    const char *name = text.failed ? NULL : vs_arena_strdup(b->arena, vs_text_str(&text));
    vs_text_release(&text);
    if (!name)
        vs_err_nomem(err);
    return name;
}

static bool finish(struct building *b, struct vs_err *err) {
    struct vs_machine *m = b->machine;
    m->hw = vs_arena_strdup(b->arena, b->request->hw);
    m->name = full_name(b, err);
    if (!m->name)
        return false;
    const char **copy = VS_NEW_ARRAY(b->arena, const char *, b->assumed.count + 1);
    if (!copy || !m->hw)
        return vs_err_nomem(err);
    for (size_t i = 0; i < b->assumed.count; i++)
        copy[i] = b->assumed.at[i];
    m->assumed = copy;
    m->assumed_count = b->assumed.count;
    m->unified = is_unified(b);
    m->board = m->unified ? NULL : b->board.name;
    m->host = b->host;
    m->link = b->link;
    m->storage = b->storage;
    return list_devices(b, err);
}

bool vs_machine_load(struct vs_arena *arena, const struct vs_machine_request *request,
                     const struct vs_machine **machine, struct vs_err *err) {
    struct building b = {.arena = arena, .request = request};
    bool ok = false;
    if (!check_request(request, err))
        return false;
    b.machine = VS_NEW(arena, struct vs_machine);
    if (!b.machine)
        return vs_err_nomem(err);
    if (!vs_hw_choose(arena, request->hw, request->gpus, &b.choice, err) || !read_board(&b, err) ||
        !read_parts(&b, err))
        goto out;
    if (!apply_overrides(&b, err) || !settle(&b, err) || !settle_nodes(&b, err) ||
        !settle_net(&b, err) || !finish(&b, err))
        goto out;
    *machine = b.machine;
    ok = true;
out:
    vs_vec_release(&b.assumed);
    return ok;
}
