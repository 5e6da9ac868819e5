/* What each layer is: sets of layers, and the layers that follow from them. Within model/ only. */
#ifndef VS_MODEL_LAYERS_H
#define VS_MODEL_LAYERS_H

#include "model/fields.h"

/* "all", or a comma list of layers and ranges, each once and in order ("0-3,7", "3-" = to the
 * end), or a part of a period ("0-4 of 6": layers 0 to 4, 6 to 10, ...). False when the text is
 * none of these; an empty set when memory runs out. */
bool vs_layer_set_parse(struct vs_arena *arena, const char *text, uint32_t layers,
                        struct vs_layer_set *set);

bool vs_layer_set_has(const struct vs_layer_set *set, uint32_t layer);
/* Any of the first `layers`? */
bool vs_layer_set_any(const struct vs_layer_set *set, uint32_t layers);

/* An empty set of `count` layers whose members the caller marks; NULL when memory runs out. */
uint8_t *vs_layer_set_new(struct vs_arena *arena, struct vs_layer_set *set, uint32_t count);

/* "MEM*E..." of hybrid models, one mixer or MLP a layer: M Mamba, * attention, E experts, - a dense
 * MLP. Sets the sets of the model; false with the index of a strange letter. */
bool vs_layer_pattern(struct vs_arena *arena, const char *letters, struct vs_model *model,
                      size_t *strange);

/* The first layer whose MLP is such, or model->layers. */
uint32_t vs_first_layer_with(const struct vs_model *model, enum vs_mlp mlp);

/* Fills model->layer and v_layers; false when memory runs out. */
bool vs_model_build_layers(struct vs_arena *arena, struct vs_model *model);

#endif
