/* Enumerating the tensors of a model: what tensors.c and mixers.c share. Within model/ only. */
#ifndef VS_MODEL_BUILD_H
#define VS_MODEL_BUILD_H

#include "model/model.h"

/* Where the tensors of a layer were put: equal layers are copied from it. */
struct vs_build_done {
    const struct vs_model_layer *layer;
    size_t first, count; /* tensors */
    size_t text, text_bytes;
    size_t digits; /* of the layer's number: names of equal length */
};

/* Run twice: once with `at` NULL to count tensors and characters, once to fill. */
struct vs_build {
    const struct vs_model *model;
    const struct vs_model_layer *now; /* the layer being enumerated */
    struct vs_tensor *at;
    size_t count;
    char *text; /* all names, one after the other */
    size_t text_bytes;
    int32_t layer;
    struct vs_build_done done[8]; /* the latest of each kind and number of digits */
    size_t done_count;
    char hf_prefix[32], gguf_prefix[32]; /* "model.layers.3." and "blk.3." */
    size_t hf_prefix_bytes, gguf_prefix_bytes;
};

struct vs_stems {
    const char *hf, *gguf; /* without prefix and ".weight" */
};

/* A tensor; both names end in `ending`. */
void vs_build_add(struct vs_build *b, enum vs_role role, struct vs_stems stems, const char *ending,
                  uint64_t rows, uint64_t cols, uint32_t copies);
/* ".weight", and a ".bias" of as many rows where asked for. */
void vs_build_matrix(struct vs_build *b, enum vs_role role, struct vs_stems stems, uint64_t rows,
                     uint64_t cols, bool bias);
/* A vector that stays as it is, with names of its own. */
void vs_build_vector(struct vs_build *b, struct vs_stems stems, uint64_t width);
void vs_build_norm(struct vs_build *b, struct vs_stems stems, uint64_t width);

/* The tensors of the layer's attention or recurrence. */
void vs_build_mixer(struct vs_build *b);

#endif
