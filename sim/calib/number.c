#include <string.h>

#include "calib/profile.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

const struct vs_field *vs_profile_field(const char *path) {
    const struct {
        const char *part;
        const struct vs_field *fields;
        size_t count;
    } parts[] = {{"host.", vs_host_fields, vs_host_field_count},
                 {"storage.", vs_storage_fields, vs_storage_field_count},
                 {"device.", vs_device_fields, vs_device_field_count},
                 {"arch.", vs_arch_fields, vs_arch_field_count},
                 {"link.", vs_link_fields, vs_link_field_count}};
    for (size_t p = 0; p < COUNT_OF(parts); p++)
        for (size_t i = 0; vs_starts(path, parts[p].part) && i < parts[p].count; i++)
            if (vs_streq(parts[p].fields[i].path, path + strlen(parts[p].part)))
                return &parts[p].fields[i];
    return NULL;
}

/* NULL where the machine has no such part. */
static const void *part_of(const struct vs_machine *m, const char *path) {
    if (vs_starts(path, "host."))
        return m->host;
    if (vs_starts(path, "storage."))
        return m->storage;
    if (vs_starts(path, "link."))
        return m->link;
    const struct vs_device *device = m->device_count > 0 ? m->devices[0] : NULL;
    return device && vs_starts(path, "arch.") ? (const void *)&device->arch : device;
}

const struct vs_num *vs_profile_number(const struct vs_machine *machine, const char *path) {
    const struct vs_field *field = vs_profile_field(path);
    const void *part = part_of(machine, path);
    if (!field || !part)
        return NULL;
    const struct vs_num *n =
        (const struct vs_num *)(const void *)((const char *)part + field->offset);
    return vs_num_known(*n) ? n : NULL;
}
