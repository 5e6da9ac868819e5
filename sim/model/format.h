/* What a weight, a KV element or a compute value costs in bytes.
 *
 * A *type* is one storage layout (block of `block_elements` in `block_bytes`, plus per-matrix
 * extras). A *format* is what a user names (--weights q4_k_m): a rule that gives each tensor of a
 * model its type (GGUF mixes, bitsandbytes, GPTQ). Sources stand at each row of types.def and
 * formats.def. */
#ifndef VS_MODEL_FORMAT_H
#define VS_MODEL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Classes that cost laws distinguish. */
enum vs_type_class {
    VS_CLASS_FLOAT,
    VS_CLASS_LEGACY, /* q4_0, q8_0 .. */
    VS_CLASS_KQUANT,
    VS_CLASS_IQUANT,
    VS_CLASS_BNB,
    VS_CLASS_GPTQ, /* weight-only integer groups: GPTQ, AWQ, EXL2, int4 */
    /* What tensor cores of some generations multiply as it is: */
    VS_CLASS_FP8,
    VS_CLASS_FP8_BLOCKS,
    VS_CLASS_MXFP4,
    VS_CLASS_NVFP4,
    VS_CLASS_COUNT
};

/* How a matrix is laid out beyond its blocks. */
enum vs_type_layout {
    VS_LAYOUT_ROWS,   /* each row is whole blocks */
    VS_LAYOUT_INT8,   /* one fp32 scale per row */
    VS_LAYOUT_NF4,    /* blocks of 64 over the flat matrix, fp32 scales */
    VS_LAYOUT_NF4_DQ, /* the same, scales stored in 8 bits in blocks of 256 */
    VS_LAYOUT_GPTQ,   /* groups along a row: scale, zero point, and a group index per column */
    VS_LAYOUT_AWQ     /* the same without the index */
};

struct vs_type {
    const char *name; /* "q4_k", "bf16", "nf4" */
    enum vs_type_class class_of;
    unsigned block_elements, block_bytes; /* along a row */
    double bits;                          /* nominal bits per weight, for display */
    enum vs_type_layout layout;           /* this and below: read by vs_type_bytes only */
    unsigned group;                       /* GPTQ and AWQ */
    unsigned extra_bytes;                 /* per matrix: code tables, a scale of the whole */
};

/* NULL when unknown. "f16" and "f32" find fp16 and fp32. */
const struct vs_type *vs_type_find(const char *name);

/* Exact bytes of a [rows out x cols in] matrix (or a vector with rows 1), extras included: scales,
 * zero points, code tables, group indices. Rows of GGUF types are whole blocks. */
uint64_t vs_type_bytes(const struct vs_type *type, uint64_t rows, uint64_t cols);

enum vs_format_kind {
    VS_FORMAT_PLAIN,
    VS_FORMAT_GGUF,
    VS_FORMAT_BNB,
    VS_FORMAT_GPTQ,
    VS_FORMAT_AWQ,
    VS_FORMAT_EXL2,
    VS_FORMAT_BPW,
    VS_FORMAT_FP8,
    VS_FORMAT_MX
};

/* `exl2:BPW` and `gguf:BPW` have no type of that many bits: their `base` says what kind of kernel
 * reads them, and only vs_tensor_bytes (model/model.h) knows their bytes. */
struct vs_format {
    const char *name; /* static, without parameters: "nf4-dq", "q4_k_m", "gptq4", "exl2" */
    enum vs_format_kind kind;
    const struct vs_type *base; /* of the linear layers */
    double bpw;                 /* gguf:BPW, exl2:BPW; else 0 */
    unsigned group;             /* gptq4:G; else 0 = 128 */
    const char *label;          /* static: "nf4 + double quant" */
    int mix;                    /* GGUF: which rule of model/gguf_mix.c */
};

/* Parses "gptq4:64", "exl2:4.5", "gguf:3.07" and plain names; the error names the three nearest. */
bool vs_format_parse(const char *text, struct vs_format *format, struct vs_err *err);
/* All names that need no parameter, in display order, for `list formats`. */
const char *const *vs_format_names(size_t *count);
bool vs_format_is_quantized(const struct vs_format *format);

/* Bytes of one KV element of a type, as a fraction (34/32 for q8_0). As KV types, int8 and int4 are
 * HF's quantized cache: groups of 64 with a 16-bit scale and zero point. */
double vs_kv_bytes(const struct vs_type *type);

#endif
