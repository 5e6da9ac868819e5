#include <math.h>
#include <string.h>

#include "base/data.h"
#include "base/text.h"
#include "base/units.h"
#include "hw/parts.h"

/* Names end up in labels, file names and terminals. */
static bool name_is_plain(const char *name) {
    if (name[0] == '\0' || strlen(name) > 64)
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(name);
}

/* The object PART of "FILE#PART". */
static bool open_part(struct vs_arena *arena, const char *word, const char *part,
                      struct vs_hw_file *in, const struct vs_json **root, struct vs_err *err) {
    struct vs_json_reader whole;
    const struct vs_json *parts;
    const char *path = vs_arena_printf(arena, "$.parts.%.60s", part);
    in->file = vs_arena_strndup(arena, word, (size_t)(part - 1 - word));
    if (!path || !in->file)
        return vs_err_nomem(err);
    if (!vs_json_load(arena, in->file, root, err) ||
        !vs_json_open(&whole, in->file, "$", *root, err))
        return false;
    parts = vs_json_member(*root, "parts");
    *root = parts && parts->kind == VS_JSON_OBJECT ? vs_json_member(parts, part) : NULL;
    if (!*root)
        return vs_json_fail(&whole, parts, err, "found '#%.60s', expected a member of \"parts\"",
                            part);
    return vs_json_open(&in->reader, in->file, path, *root, err);
}

static bool open_file(struct vs_arena *arena, const char *kind, const char *word,
                      struct vs_hw_file *in, const struct vs_json **root, struct vs_err *err) {
    const char *folder = strcmp(kind, "storage") == 0
                             ? "hwprofiles/storage"
                             : vs_arena_printf(arena, "hwprofiles/%ss", kind);
    if (!folder)
        return vs_err_nomem(err);
    return vs_data_find(arena, folder, kind, word, &in->file, err) &&
           vs_json_load(arena, in->file, root, err) &&
           vs_json_open(&in->reader, in->file, "$", *root, err);
}

bool vs_hw_resolve(struct vs_arena *arena, const struct vs_hw_file *in, const char **word,
                   struct vs_err *err) {
    if (!*word || (*word)[0] != '#')
        return true;
    *word = vs_arena_printf(arena, "%s%s", in->file, *word);
    return *word || vs_err_nomem(err);
}

bool vs_hw_open(struct vs_arena *arena, const char *kind, const char *word, struct vs_hw_file *in,
                struct vs_err *err) {
    const struct vs_json *root = NULL;
    const char *const *aliases = NULL;
    const char *schema = NULL, *about = NULL;
    size_t alias_count = 0;
    const char *expected = vs_arena_printf(arena, "vramsim-%s/1", kind);
    if (!expected)
        return vs_err_nomem(err);
    *in = (struct vs_hw_file){0};
    struct vs_json_reader *r = &in->reader;
    const char *hash = strrchr(word, '#');
    if (!(hash ? open_part(arena, word, hash + 1, in, &root, err)
               : open_file(arena, kind, word, in, &root, err)) ||
        !vs_json_get_string(r, "schema", !hash, &schema, err))
        return false;
    if (schema && !vs_streq(schema, expected))
        return vs_json_fail(r, vs_json_member(root, "schema"), err,
                            "found schema '%s', expected '%s'", schema, expected);
    if (!vs_json_get_string(r, "name", true, &in->name, err) ||
        !vs_json_get_string(r, "title", true, &in->title, err) ||
        !vs_json_get_string(r, "about", false, &about, err) ||
        !vs_json_get_strings(r, "aliases", false, arena, &aliases, &alias_count, err))
        return false;
    if (!name_is_plain(in->name))
        return vs_json_fail(r, vs_json_member(root, "name"), err,
                            "name '%s', expected up to 64 of a-z 0-9 - _ .", in->name);
    return true;
}

static bool read_arch(struct vs_arena *arena, const char *name, struct vs_arch *arch,
                      struct vs_err *err) {
    struct vs_hw_file in;
    if (!vs_hw_open(arena, "arch", name, &in, err) ||
        !vs_fields_read(arena, &in.reader, vs_arch_fields, vs_arch_field_count, arch, NULL, err) ||
        !vs_json_close(&in.reader, err))
        return false;
    arch->name = in.name;
    if (vs_num_known(arch->usable_small_fraction) != vs_num_known(arch->usable_small_bytes))
        return vs_json_fail(&in.reader, in.reader.object, err,
                            "usable_small_fraction and usable_small_bytes go together");
    return true;
}

static bool read_kind(struct vs_json_reader *r, enum vs_device_kind *kind, struct vs_err *err) {
    const char *word = NULL;
    if (!vs_json_get_string(r, "kind", true, &word, err))
        return false;
    if (vs_streq(word, "discrete"))
        *kind = VS_DEVICE_DISCRETE;
    else if (vs_streq(word, "unified"))
        *kind = VS_DEVICE_UNIFIED;
    else
        return vs_json_fail(r, vs_json_member(r->object, "kind"), err,
                            "unknown kind '%s', expected one of: discrete, unified", word);
    return true;
}

/* The words inside "memory"; its numbers are read, and its keys checked, by vs_fields_read. */
static bool read_memory_words(const struct vs_json_reader *r, struct vs_device *device,
                              struct vs_err *err) {
    struct vs_json_reader inner;
    const struct vs_json *memory = vs_json_member(r->object, "memory");
    return vs_json_open(&inner, r->file, "$.memory", memory, err) &&
           vs_json_get_string(&inner, "kind", true, &device->memory.kind, err) &&
           vs_json_get_bool(&inner, "inline_ecc", false, &device->memory.inline_ecc, err);
}

static bool check_links(const struct vs_json_reader *r, const struct vs_device *device,
                        struct vs_err *err) {
    if (device->kind == VS_DEVICE_DISCRETE && !device->link)
        return vs_json_fail(r, r->object, err, "missing key 'link' of a discrete device");
    if (device->kind == VS_DEVICE_UNIFIED && device->link)
        return vs_json_fail(r, vs_json_member(r->object, "link"), err,
                            "found a link, expected none with unified memory");
    if (device->peer_link && !vs_num_known(device->peer_bytes_per_s))
        return vs_json_fail(r, vs_json_member(r->object, "peer_link"), err,
                            "found peer_link, expected peer_bytes_per_s beside it");
    return true;
}

bool vs_device_read(struct vs_arena *arena, const char *name, struct vs_device *device,
                    struct vs_err *err) {
    static const char *const words[] = {"memory.kind", "memory.inline_ecc", NULL};
    struct vs_hw_file in;
    struct vs_device d = {0};
    const char *arch = NULL;
    if (!vs_hw_open(arena, "device", name, &in, err))
        return false;
    struct vs_json_reader *r = &in.reader;
    if (!vs_fields_read(arena, r, vs_device_fields, vs_device_field_count, &d, words, err) ||
        !read_memory_words(r, &d, err) || !read_kind(r, &d.kind, err) ||
        !vs_json_get_string(r, "vendor", true, &d.vendor, err) ||
        !vs_json_get_string(r, "arch", true, &arch, err) ||
        !vs_json_get_string(r, "link", false, &d.link, err) ||
        !vs_json_get_string(r, "peer_link", false, &d.peer_link, err) ||
        !vs_json_get_string(r, "machine", !strchr(name, '#'), &d.machine, err) ||
        !vs_json_close(r, err) || !check_links(r, &d, err) ||
        !vs_hw_resolve(arena, &in, &arch, err) || !vs_hw_resolve(arena, &in, &d.link, err) ||
        !read_arch(arena, arch, &d.arch, err))
        return false;
    if (!d.machine)
        d.machine = in.file; /* a part of the machine that it stands in */
    d.name = in.name;
    d.title = in.title;
    d.file = in.file;
    *device = d;
    return true;
}

static bool was_set(struct vs_num n) { return n.method && strcmp(n.method, "set") == 0; }

/* The rule of thumb of the device's generation. */
static bool derive_usable(struct vs_arena *arena, struct vs_device *device, struct vs_err *err) {
    const struct vs_arch *arch = &device->arch;
    double nominal = device->memory.nominal_bytes.value;
    struct vs_num fraction = arch->usable_fraction;
    if (device->memory.inline_ecc && vs_num_known(arch->usable_ecc_fraction))
        fraction = arch->usable_ecc_fraction;
    if (vs_num_known(arch->usable_small_bytes) && nominal <= arch->usable_small_bytes.value)
        fraction = arch->usable_small_fraction;
    char share[VS_UNIT_TEXT], label[VS_UNIT_TEXT];
    const char *source = vs_arena_printf(arena, "%s x label of %s; %s",
                                         vs_print_g9(share, round(fraction.value * 1e4) / 1e4),
                                         vs_print_bytes(label, (uint64_t)nominal), fraction.source);
    if (!source)
        return vs_err_nomem(err);
    device->memory.usable_bytes = (struct vs_num){
        .value = floor(fraction.value * nominal), .method = "derived", .source = source};
    return true;
}

bool vs_device_settle(struct vs_arena *arena, struct vs_device *device, uint64_t ram_bytes,
                      struct vs_err *err) {
    struct vs_num *nominal = &device->memory.nominal_bytes, *usable = &device->memory.usable_bytes;
    if (device->kind == VS_DEVICE_UNIFIED && ram_bytes > 0)
        *nominal = (struct vs_num){(double)ram_bytes, "set", "command line"};
    /* Another size makes the stated usable capacity stale, and the other way round. */
    if (was_set(*nominal) && !was_set(*usable))
        usable->value = (double)NAN;
    if (was_set(*usable) && !was_set(*nominal) && usable->value > nominal->value)
        *nominal = *usable;
    if (!vs_num_known(*usable))
        return derive_usable(arena, device, err);
    if (usable->value > nominal->value)
        return vs_err_at(err, device->file, 0, 0,
                         "memory.usable_bytes exceeds memory.nominal_bytes");
    return true;
}

bool vs_device_load(struct vs_arena *arena, const char *name, struct vs_device *device,
                    struct vs_err *err) {
    struct vs_device d;
    if (!vs_device_read(arena, name, &d, err) || !vs_device_settle(arena, &d, 0, err))
        return false;
    *device = d;
    return true;
}
