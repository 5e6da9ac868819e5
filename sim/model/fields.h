/* The numbers of a model: one table for our files, config.json and `--set`. Within model/ only. */
#ifndef VS_MODEL_FIELDS_H
#define VS_MODEL_FIELDS_H

#include "base/json.h"
#include "base/units.h"
#include "model/model.h"

/* The objects of our files in which numbers stand. */
enum vs_model_place {
    VS_PLACE_TOP,
    VS_PLACE_MOE,
    VS_PLACE_MLA,
    VS_PLACE_LINEAR,
    VS_PLACE_MAMBA,
    VS_PLACE_ATTENTION, /* read entry by entry, not by the table */
    VS_PLACE_COUNT
};
extern const char *const vs_model_place_keys[VS_PLACE_COUNT]; /* "moe"; NULL for the top */

struct vs_model_field {
    const char *name; /* for --set: "moe_ffn" */
    const char *key;  /* in our files, within `place`: "ffn" */
    enum vs_model_place place;
    bool required; /* where its object is there */
    size_t offset; /* of the uint32_t */
    uint64_t low, high;
    const char *const *hf_keys; /* aliases in config.json, NULL-terminated; NULL = never there */
};

enum { VS_MODEL_FIELD_COUNT = 40 };
extern const struct vs_model_field vs_model_fields[VS_MODEL_FIELD_COUNT];

const struct vs_model_field *vs_model_field_find(const char *name); /* or NULL */
uint32_t *vs_model_field_at(struct vs_model *model, const struct vs_model_field *field);

enum { VS_FLAW_SIZE = VS_WHY_SIZE };

/* What no single number tells: the field at fault and a text, or NULL when the shape makes sense.
 */
const struct vs_model_field *vs_model_flaw(const struct vs_model *model, char text[VS_FLAW_SIZE]);

/* Fill a zeroed model from an open root object. */
bool vs_model_read_json(struct vs_arena *arena, struct vs_json_reader *root, struct vs_model *model,
                        uint64_t *published_params, struct vs_err *err);
bool vs_model_read_hf(struct vs_arena *arena, struct vs_json_reader *root, struct vs_model *model,
                      struct vs_err *err);
/* The format that "quantization_config" names, into model->stored_format. */
bool vs_model_read_quantization(struct vs_arena *arena, const struct vs_json_reader *root,
                                const struct vs_json *config, struct vs_model *model,
                                struct vs_err *err);

/* Describes the layers, enumerates the tensors and sums the parameters; false when memory runs out.
 * The shape must have passed vs_model_flaw. */
bool vs_model_build(struct vs_arena *arena, struct vs_model *model);

#endif
