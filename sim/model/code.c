#include "model/code.h"

#include "base/text.h"

const struct vs_model_code *vs_model_code(const struct vs_model *model) {
#define FAMILY(name, act, all) {.family = (name), .activation = (act), .facts = (all)},
    static const struct vs_model_code KNOWN[] = {
#include "model/code.def"
    };
#undef FAMILY
    static const struct vs_model_code LLAMA = {.family = "llama"};
    static const struct vs_model_code BIASED = {.family = "llama", .facts = VS_CODE_LAYERNORM};
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (model->family && vs_streq(model->family, KNOWN[i].family))
            return &KNOWN[i];
    return model->norm_bias ? &BIASED : &LLAMA;
}
