/* The machine file of a profile. */
#include <string.h>

#include "base/json.h"
#include "calib/profile.h"

struct part {
    const char *key, *prefix; /* member of "parts"; what its numbers' paths begin with */
    const struct vs_field *fields;
    size_t count;
    const void *base; /* an object with what was not measured; NULL = only that is written */
};

static void put_key(struct vs_json_writer *w, const char *key, const char *value) {
    vs_json_member_string(w, key, value);
}

static void put_number(struct vs_json_writer *w, const char *key, double value, const char *method,
                       const char *source) {
    vs_json_key(w, key);
    vs_json_object(w);
    vs_json_member_number(w, "value", value);
    put_key(w, "method", vs_streq(method, "set") ? "reported" : method);
    put_key(w, "source", source);
    vs_json_end(w, '}');
}

static const struct vs_found *find(const struct vs_profile *p, const char *prefix,
                                   const char *path) {
    const size_t length = strlen(prefix);
    for (size_t i = 0; i < p->found_count; i++)
        if (strncmp(p->found[i].path, prefix, length) == 0 &&
            strcmp(p->found[i].path + length, path) == 0)
            return &p->found[i];
    return NULL;
}

static void put_one(struct vs_json_writer *w, const struct vs_profile *p, const struct part *part,
                    const struct vs_field *field, const char *key) {
    const struct vs_found *found = find(p, part->prefix, field->path);
    if (found) {
        put_number(w, key, found->fitted.value, "measured", found->source);
    } else if (part->base) {
        const struct vs_num *n =
            (const struct vs_num *)(const void *)((const char *)part->base + field->offset);
        if (vs_num_known(*n))
            put_number(w, key, n->value, n->method, n->source);
    }
}

/* The numbers of a part whose paths begin with `group` ("memory."; "" = those without a dot). */
static void put_group(struct vs_json_writer *w, const struct vs_profile *p, const struct part *part,
                      const char *group) {
    const size_t length = strlen(group);
    for (size_t i = 0; i < part->count; i++) {
        const char *path = part->fields[i].path;
        if (strncmp(path, group, length) == 0 && !strchr(path + length, '.'))
            put_one(w, p, part, &part->fields[i], path + length);
    }
}

static void begin_part(struct vs_json_writer *w, const char *key, const char *name,
                       const char *title) {
    vs_json_key(w, key);
    vs_json_object(w);
    put_key(w, "name", name);
    put_key(w, "title", title);
}

static void put_part(struct vs_json_writer *w, const struct vs_profile *p, const struct part *part,
                     const char *name, const char *title) {
    begin_part(w, part->key, name, title);
    put_group(w, p, part, "");
    vs_json_end(w, '}');
}

static void put_device(struct vs_json_writer *w, const struct vs_profile *p) {
    const struct vs_device *d = p->base->devices[0];
    const struct part part = {"gpu", "device.", vs_device_fields, vs_device_field_count, d};
    begin_part(w, part.key, p->name, p->title);
    put_key(w, "vendor", d->vendor);
    put_key(w, "kind", d->kind == VS_DEVICE_UNIFIED ? "unified" : "discrete");
    put_key(w, "arch", "#arch");
    vs_json_key(w, "memory");
    vs_json_object(w);
    put_key(w, "kind", d->memory.kind);
    vs_json_member_boolean(w, "inline_ecc", d->memory.inline_ecc);
    put_group(w, p, &part, "memory.");
    vs_json_end(w, '}');
    vs_json_key(w, "compute");
    vs_json_object(w);
    put_group(w, p, &part, "compute.");
    vs_json_end(w, '}');
    if (p->link || d->link)
        put_key(w, "link", p->link ? "#link" : d->link);
    if (d->peer_link)
        put_key(w, "peer_link", d->peer_link);
    put_group(w, p, &part, "");
    put_key(w, "machine", d->machine);
    vs_json_end(w, '}');
}

static void put_parts(struct vs_json_writer *w, const struct vs_profile *p) {
    const struct part host = {"host", "host.", vs_host_fields, vs_host_field_count, p->other_host};
    const struct part storage = {"storage", "storage.", vs_storage_fields, vs_storage_field_count,
                                 p->storage_base};
    const struct part link = {"link", "link.", vs_link_fields, vs_link_field_count, p->link_base};
    vs_json_key(w, "parts");
    vs_json_object(w);
    if (p->host)
        put_part(w, p, &host, p->name, p->host_title);
    if (p->storage)
        put_part(w, p, &storage, p->name, p->host_title);
    if (p->link)
        put_part(w, p, &link, p->name, p->title);
    if (p->device) {
        const struct part arch = {"arch", "arch.", vs_arch_fields, vs_arch_field_count,
                                  &p->base->devices[0]->arch};
        put_device(w, p);
        /* Engines name the generation where they have numbers of their own for it. */
        put_part(w, p, &arch, p->base->devices[0]->arch.name, p->title);
    }
    vs_json_end(w, '}');
}

/* What the machine around the device has between nodes. */
static void put_net(struct vs_json_writer *w, const struct vs_profile *p) {
    if (!p->device || !vs_num_known(p->base->net_bytes_per_s))
        return;
    const struct vs_num net = p->base->net_bytes_per_s;
    vs_json_key(w, "net_bytes_per_s");
    vs_json_object(w);
    put_number(w, "default", net.value, net.method, net.source);
    vs_json_end(w, '}');
}

void vs_profile_write(struct vs_text *out, const struct vs_profile *p) {
    struct vs_json_writer w;
    const struct part host = {"host", "host.", vs_host_fields, vs_host_field_count, p->other_host};
    vs_json_begin(&w, out);
    vs_json_object(&w);
    put_key(&w, "schema", "vramsim-machine/1");
    put_key(&w, "name", p->name);
    put_key(&w, "title", p->title);
    if (p->device) {
        vs_json_key(&w, "devices");
        vs_json_array(&w);
        for (size_t i = 0; i < p->base->device_count; i++)
            vs_json_string(&w, "#gpu");
        vs_json_end(&w, ']');
    }
    put_key(&w, "host", p->host ? "#host" : p->other_host->name);
    if (p->link)
        put_key(&w, "link", "#link");
    put_key(&w, "storage",
            p->storage        ? "#storage"
            : p->storage_base ? p->storage_base->name
                              : "none");
    for (size_t i = 0; i < host.count; i++)
        if (strcmp(host.fields[i].path, "reserved_bytes") == 0)
            put_one(&w, p, &host, &host.fields[i], "reserved_bytes");
    put_net(&w, p);
    put_parts(&w, p);
    vs_json_end(&w, '}');
    vs_text_add(out, "\n");
}
