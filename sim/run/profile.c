#include "run/profile.h"

enum { VALUE_SIZE = 48 };

struct list {
    struct vs_arena *arena;
    struct vs_figure *at;
    size_t count;
};

/* The known numbers of one part of the machine. */
static bool add_part(struct list *list, const char *part, const struct vs_field *fields,
                     size_t count, const void *object) {
    for (size_t i = 0; object && i < count; i++) {
        const struct vs_field *f = &fields[i];
        const struct vs_num *n = (const void *)((const char *)object + f->offset);
        char value[VALUE_SIZE];
        if (!vs_num_known(*n))
            continue;
        vs_field_print(f, *n, value, sizeof value);
        const struct vs_figure figure = {
            part, vs_arena_strndup(list->arena, f->path, vs_field_name_length(f)),
            vs_arena_strdup(list->arena, value), n->method, n->source};
        if (!figure.name || !figure.value)
            return false;
        list->at[list->count++] = figure;
    }
    return true;
}

static bool listed(const struct vs_machine *m, size_t device) {
    for (size_t i = 0; i < device; i++)
        if (m->devices[i] == m->devices[device])
            return true;
    return false;
}

bool vs_profile_list(struct vs_arena *arena, const struct vs_machine *m, struct vs_outcome *outcome,
                     struct vs_err *err) {
    const size_t per_device = vs_device_field_count + vs_arch_field_count;
    size_t kinds = 0;
    for (size_t i = 0; i < m->device_count; i++)
        kinds += !listed(m, i);
    struct list list = {.arena = arena,
                        .at = VS_NEW_ARRAY(arena, struct vs_figure,
                                           kinds * per_device + vs_host_field_count +
                                               vs_link_field_count + vs_storage_field_count)};
    bool ok = list.at != NULL;
    for (size_t i = 0; ok && i < m->device_count; i++) {
        const struct vs_device *d = m->devices[i];
        if (!listed(m, i))
            ok = add_part(&list, d->name, vs_device_fields, vs_device_field_count, d) &&
                 add_part(&list, d->arch.name, vs_arch_fields, vs_arch_field_count, &d->arch);
    }
    ok = ok && add_part(&list, "host", vs_host_fields, vs_host_field_count, m->host) &&
         add_part(&list, "link", vs_link_fields, vs_link_field_count, m->link) &&
         add_part(&list, "storage", vs_storage_fields, vs_storage_field_count, m->storage);
    outcome->profile = list.at;
    outcome->profile_count = list.count;
    return ok || vs_err_nomem(err);
}
