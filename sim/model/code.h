/* How the published code of a model computes, where training sees it: which tensors autograd keeps
 * follows from the operations, not from the shapes. Facts of a family, from code.def; sizes and
 * counts stay in struct vs_model. Knows no engine: one that runs code of its own may differ. */
#ifndef VS_MODEL_CODE_H
#define VS_MODEL_CODE_H

#include "model/model.h"

enum vs_activation {
    VS_ACT_KERNEL,     /* one kernel, which keeps its input: SiLU, GELU */
    VS_ACT_EAGER_GELU, /* the tanh formula written out, operation by operation */
    VS_ACT_RELU        /* keeps its output, which the next matrix keeps anyway */
};

enum vs_code_fact {
    VS_CODE_LAYERNORM = 1 << 0,     /* one kernel, in the type of its input; fp32 under autocast */
    VS_CODE_PARALLEL = 1 << 1,      /* attention and MLP read the same stream and are added to it */
    VS_CODE_UNROTATED = 1 << 2,     /* positions are learned or biases (ALiBi): q and k stay */
    VS_CODE_WIDE_NORM = 1 << 3,     /* RMSNorm whose weight multiplies in fp32 */
    VS_CODE_LOW_LOGITS = 1 << 4,    /* loss of logits in the compute type, not in fp32 */
    VS_CODE_SHIFTS_LABELS = 1 << 5, /* rolls the labels; else the logits are shifted by a copy */
    VS_CODE_DROPOUT = 1 << 6, /* of attention and both branches, on in the published configs */
    VS_CODE_TRITON_ATTENTION = 1 << 7, /* its fused attention is the Triton kernel */
    VS_CODE_ALL_EXPERTS = 1 << 8 /* every token through every expert, what was not chosen by 0 */
};

struct vs_model_code {
    const char *family;
    enum vs_activation activation;
    uint32_t facts; /* of enum vs_code_fact */
};

/* Never NULL; static. */
const struct vs_model_code *vs_model_code(const struct vs_model *model);

#endif
