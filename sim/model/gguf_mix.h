/* Which type llama-quantize gives each tensor of a GGUF file. Within model/ only. */
#ifndef VS_MODEL_GGUF_MIX_H
#define VS_MODEL_GGUF_MIX_H

#include "model/model.h"

/* The recipes, by what they do beyond their base type. VS_MIX_L added: embedding and output in
 * q8_0, as the widely used `_L` files are made (llama-quantize --output-tensor-type and
 * --token-embedding-type). */
enum vs_mix {
    VS_MIX_NONE,  /* not GGUF */
    VS_MIX_FLOAT, /* matrices in the base type */
    VS_MIX_PLAIN, /* base type; the output matrix q6_k */
    VS_MIX_TQ,
    VS_MIX_Q2_K,
    VS_MIX_Q2_K_S,
    VS_MIX_Q3_K_S,
    VS_MIX_Q3_K_M,
    VS_MIX_Q3_K_L,
    VS_MIX_Q4_K_S,
    VS_MIX_Q4_K_M,
    VS_MIX_Q5_K_M,
    VS_MIX_IQ1,    /* iq1_s, iq1_m */
    VS_MIX_IQ2_XS, /* iq2_xxs, iq2_xs */
    VS_MIX_IQ2_M,  /* iq2_s, iq2_m */
    VS_MIX_IQ3_XXS,
    VS_MIX_IQ3_XS,
    VS_MIX_IQ3_S,
    VS_MIX_IQ3_M,
    VS_MIX_IQ4, /* iq4_nl, iq4_xs */

    VS_MIX_L = 64,
    VS_MIX_PLAIN_L = VS_MIX_PLAIN + VS_MIX_L,
    VS_MIX_Q2_K_L = VS_MIX_Q2_K + VS_MIX_L,
    VS_MIX_Q3_K_L_L = VS_MIX_Q3_K_L + VS_MIX_L,
    VS_MIX_Q4_K_M_L = VS_MIX_Q4_K_M + VS_MIX_L,
    VS_MIX_Q5_K_M_L = VS_MIX_Q5_K_M + VS_MIX_L
};

/* The type of a tensor in a file of format `format` (kind VS_FORMAT_GGUF). */
const struct vs_type *vs_gguf_type(const struct vs_model *model, const struct vs_tensor *tensor,
                                   const struct vs_format *format);

#endif
