#include "model/types.h"

#include "base/text.h"

const struct vs_type vs_types[VS_TYPE_COUNT] = {
#define VS_TYPE(id, name, class, elements, bytes, bits, layout, group, extra)                      \
    {name, VS_CLASS_##class, elements, bytes, bits, VS_LAYOUT_##layout, group, extra},
#include "model/types.def"
#undef VS_TYPE
};

const struct vs_type *vs_type_find(const char *name) {
    if (vs_streq(name, "f16"))
        return &vs_types[VS_TYPE_FP16];
    if (vs_streq(name, "f32"))
        return &vs_types[VS_TYPE_FP32];
    for (size_t i = 0; i < VS_TYPE_COUNT; i++)
        if (vs_streq(vs_types[i].name, name))
            return &vs_types[i];
    return NULL;
}

static uint64_t blocks(uint64_t elements, uint64_t block) {
    return elements / block + (elements % block != 0);
}

/* Packed weights, 16-bit scales and packed zero points of groups along a row. */
static uint64_t grouped_bytes(const struct vs_type *type, uint64_t rows, uint64_t cols) {
    const uint64_t bits = (uint64_t)type->bits;
    const uint64_t groups = blocks(cols, type->group);
    return blocks(cols * bits, 32) * 4 * rows + groups * blocks(rows * bits, 32) * 4 +
           groups * rows * 2;
}

static uint64_t layout_bytes(const struct vs_type *type, uint64_t rows, uint64_t cols) {
    const uint64_t n = rows * cols;
    const uint64_t absmax = blocks(n, 64);

    switch (type->layout) {
    case VS_LAYOUT_INT8:
        return n + 4 * rows;
    case VS_LAYOUT_NF4:
        return blocks(n, 2) + 4 * absmax;
    case VS_LAYOUT_NF4_DQ:
        return blocks(n, 2) + absmax + 4 * blocks(absmax, 256);
    case VS_LAYOUT_GPTQ:
        return grouped_bytes(type, rows, cols) + 4 * cols;
    case VS_LAYOUT_AWQ:
        return grouped_bytes(type, rows, cols);
    case VS_LAYOUT_ROWS:
        break;
    }
    return rows * blocks(cols, type->block_elements) * type->block_bytes;
}

uint64_t vs_type_bytes(const struct vs_type *type, uint64_t rows, uint64_t cols) {
    if (rows == 0 || cols == 0)
        return 0;
    return layout_bytes(type, rows, cols) + type->extra_bytes;
}

/* int8 in a KV cache is not LLM.int8: 8 bits, and per group of 64 a 16-bit scale and zero point
 * (huggingface/transformers cache_utils.py @004999d9, QuantizedCache). */
static void kv_block(const struct vs_type *type, unsigned *elements, unsigned *bytes) {
    const bool grouped = type == &vs_types[VS_TYPE_INT8];
    *elements = grouped ? 64 : type->block_elements;
    *bytes = grouped ? 68 : type->block_bytes;
}

double vs_kv_bytes(const struct vs_type *type) {
    unsigned elements, bytes;
    kv_block(type, &elements, &bytes);
    return (double)bytes / elements;
}

uint64_t vs_kv_row_bytes(const struct vs_type *type, uint64_t elements) {
    unsigned per_block, bytes;
    kv_block(type, &per_block, &bytes);
    return blocks(elements, per_block) * bytes;
}
