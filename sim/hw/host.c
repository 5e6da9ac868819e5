#include <math.h>

#include "base/text.h"
#include "hw/parts.h"

bool vs_host_load(struct vs_arena *arena, const char *name, struct vs_host *host,
                  struct vs_err *err) {
    struct vs_hw_file in;
    struct vs_host h = {0};
    if (!vs_hw_open(arena, "host", name, &in, err) ||
        !vs_fields_read(arena, &in.reader, vs_host_fields, vs_host_field_count, &h, NULL, err) ||
        !vs_json_get_string(&in.reader, "link", false, &h.link, err) ||
        !vs_json_get_string(&in.reader, "storage", false, &h.storage, err) ||
        !vs_json_close(&in.reader, err))
        return false;
    h.name = in.name;
    h.title = in.title;
    h.file = in.file;
    *host = h;
    return true;
}

bool vs_link_load(struct vs_arena *arena, const char *name, struct vs_link *link,
                  struct vs_err *err) {
    struct vs_hw_file in;
    struct vs_link l = {0};
    if (!vs_hw_open(arena, "link", name, &in, err) ||
        !vs_fields_read(arena, &in.reader, vs_link_fields, vs_link_field_count, &l, NULL, err) ||
        !vs_json_close(&in.reader, err))
        return false;
    l.name = in.name;
    l.title = in.title;
    l.file = in.file;
    *link = l;
    return true;
}

bool vs_storage_load(struct vs_arena *arena, const char *name, struct vs_storage *storage,
                     struct vs_err *err) {
    struct vs_hw_file in;
    struct vs_storage s = {0};
    if (!vs_hw_open(arena, "storage", name, &in, err) ||
        !vs_fields_read(arena, &in.reader, vs_storage_fields, vs_storage_field_count, &s, NULL,
                        err) ||
        !vs_json_close(&in.reader, err))
        return false;
    s.name = in.name;
    s.title = in.title;
    s.file = in.file;
    *storage = s;
    return true;
}

static bool resolve_words(struct vs_arena *arena, const struct vs_hw_file *in, struct vs_board *b,
                          struct vs_err *err) {
    const char **devices = VS_NEW_ARRAY(arena, const char *, b->device_count + 1);
    if (!devices)
        return vs_err_nomem(err);
    for (size_t i = 0; i < b->device_count; i++) {
        devices[i] = b->devices[i];
        if (!vs_hw_resolve(arena, in, &devices[i], err))
            return false;
    }
    b->devices = devices;
    return vs_hw_resolve(arena, in, &b->host, err) && vs_hw_resolve(arena, in, &b->link, err) &&
           vs_hw_resolve(arena, in, &b->storage, err);
}

bool vs_board_read(struct vs_arena *arena, const char *name, struct vs_board *board,
                   struct vs_err *err) {
    struct vs_hw_file in;
    struct vs_board b = {.reserved_bytes = {.value = (double)NAN}};
    const struct vs_json *parts = NULL; /* each is read when a word asks for it */
    if (!vs_hw_open(arena, "machine", name, &in, err))
        return false;
    struct vs_json_reader *r = &in.reader;
    if (!vs_json_get_strings(r, "devices", false, arena, &b.devices, &b.device_count, err) ||
        !vs_json_get_string(r, "host", true, &b.host, err) ||
        !vs_json_get_string(r, "link", false, &b.link, err) ||
        !vs_json_get_string(r, "storage", true, &b.storage, err) ||
        !vs_num_read(arena, r, "reserved_bytes", true, 0, 1e15, &b.reserved_bytes, err) ||
        !vs_json_get_any(r, "net_bytes_per_s", false, &b.net, err) ||
        !vs_json_get_any(r, "parts", false, &parts, err) || !vs_json_close(r, err) ||
        !resolve_words(arena, &in, &b, err))
        return false;
    b.name = in.name;
    b.title = in.title;
    b.file = in.file;
    *board = b;
    struct vs_num net;
    return vs_board_net(arena, board, NULL, &net, err); /* only to check it */
}

bool vs_board_net(struct vs_arena *arena, const struct vs_board *board, const char *arch,
                  struct vs_num *net, struct vs_err *err) {
    struct vs_json_reader r;
    *net = (struct vs_num){.value = (double)NAN};
    if (!board->net)
        return true;
    if (!vs_json_open(&r, board->file, "$.net_bytes_per_s", board->net, err))
        return false;
    const char *wanted = arch && vs_json_member(board->net, arch) ? arch : "default";
    for (const struct vs_json *node = board->net->child; node; node = node->next) {
        struct vs_num n = {.value = (double)NAN};
        if (!vs_num_read(arena, &r, node->key, true, 1e3, 1e15, &n, err))
            return false;
        if (vs_streq(node->key, wanted))
            *net = n;
    }
    return vs_json_close(&r, err);
}

double vs_host_large_cores(const struct vs_host *host) {
    double large = host->cores.value - vs_num_or(host->small_cores, 0);
    return large > 0 ? large : 0;
}
