/* The storage types by id. Within model/ only. */
#ifndef VS_MODEL_TYPES_H
#define VS_MODEL_TYPES_H

#include "model/format.h"

enum vs_type_id {
#define VS_TYPE(id, name, class, elements, bytes, bits, layout, group, extra) VS_TYPE_##id,
#include "model/types.def"
#undef VS_TYPE
    VS_TYPE_COUNT
};

/* Bytes of one row (a cell of one layer) of a K or V cache: whole blocks. */
uint64_t vs_kv_row_bytes(const struct vs_type *type, uint64_t elements);

extern const struct vs_type vs_types[VS_TYPE_COUNT];

#endif
