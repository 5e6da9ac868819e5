/* Which layer is what: the ways in which config.json files say it, with four layers each; and what
 * is refused, with its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/layers.h"
#include "model_helpers.h"
#include "unit/suite.h"

#define SHAPE                                                                                      \
    "\"hidden_size\":64,\"num_hidden_layers\":4,\"num_attention_heads\":4,\"vocab_size\":100,"     \
    "\"intermediate_size\":128"
#define QWEN2 "{\"architectures\":[\"Qwen2ForCausalLM\"]," SHAPE ",\"sliding_window\":16"
#define QWEN3_MOE                                                                                  \
    "{\"architectures\":[\"Qwen3MoeForCausalLM\"]," SHAPE ",\"num_experts\":8,"                    \
    "\"num_experts_per_tok\":2,\"moe_intermediate_size\":32"
#define MLLAMA "{\"architectures\":[\"MllamaForConditionalGeneration\"],\"text_config\":{" SHAPE
#define NEMOTRON                                                                                   \
    "{\"architectures\":[\"NemotronHForCausalLM\"]," SHAPE ",\"n_routed_experts\":8,"              \
    "\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,\"mamba_num_heads\":4,"                \
    "\"mamba_head_dim\":16,\"n_groups\":1,\"ssm_state_size\":16,\"conv_kernel\":4"

static bool load(const char *text, const struct vs_model **model, struct vs_err *err) {
    write_text(text);
    *err = (struct vs_err){.status = VS_OK};
    return vs_model_load(&arena, file, model, err);
}

/* A letter for each layer: w(indow), c(ross), f(ull attention), m(amba), '.' = no mixer; in upper
 * case where its MLP is one of experts. */
static void kinds(const char *text, const char *letters) {
    const struct vs_model *model = NULL;
    struct vs_err err;
    char found[8] = "";
    ck_assert_msg(load(text, &model, &err), "%s", err.text);
    ck_assert_uint_eq(model->layers, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct vs_model_layer *layer = &model->layer[i];
        char kind = layer->window ? 'w' : 'f';
        if (layer->mixer == VS_MIXER_CROSS)
            kind = 'c';
        if (layer->mixer == VS_MIXER_MAMBA)
            kind = 'm';
        if (layer->mixer == VS_MIXER_NONE)
            kind = '.';
        found[i] =
            layer->mlp == VS_MLP_EXPERTS ? (char)(kind == '.' ? 'E' : kind - 'a' + 'A') : kind;
    }
    ck_assert_str_eq(found, letters);
}

static void refused(const char *text, const char *says) {
    const struct vs_model *model = NULL;
    struct vs_err err;
    ck_assert_msg(!load(text, &model, &err), "taken: %s", text);
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s\n  for %s", err.text, text);
    ck_assert_msg(strstr(err.text, "config.json:1:") != NULL, "no place: %s", err.text);
}

/* Qwen2 has windows only where it is asked for them, behind the first layers. */
START_TEST(windows) {
    kinds(QWEN2 "}", "ffff");
    kinds(QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":1}", "fwww");
    kinds(QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":9}", "ffff");
    kinds(QWEN2 ",\"use_sliding_window\":true,\"layer_types\":[\"full_attention\","
                "\"sliding_attention\",\"full_attention\",\"sliding_attention\"]}",
          "fwfw");
    refused(QWEN2 ",\"use_sliding_window\":3}", "expected");
    refused(QWEN2 ",\"use_sliding_window\":true,\"max_window_layers\":-1}", "max_window_layers");
    refused(QWEN2 ",\"layer_types\":7}", "expected an array of strings");
    refused(QWEN2 ",\"layer_types\":[]}", "expected an array of strings");
    refused(QWEN2 ",\"layer_types\":[\"full_attention\"]}", "1 entries for 4 layers");
    refused(QWEN2 ",\"layer_types\":[1,2,3,4]}", "expected a string");
    refused(QWEN2 ",\"layer_types\":[\"full_attention\",\"full_attention\",\"odd\",\"full\"]}",
            "unknown kind of attention 'odd'");
}
END_TEST

/* Experts in all layers, in every second one, in all but some, or layer by layer. */
START_TEST(experts) {
    kinds(QWEN3_MOE "}", "FFFF");
    kinds(QWEN3_MOE ",\"decoder_sparse_step\":2}", "fFfF");
    kinds(QWEN3_MOE ",\"mlp_only_layers\":[0,3]}", "fFFf");
    kinds(QWEN3_MOE ",\"first_k_dense_replace\":1}", "fFFF");
    kinds(QWEN3_MOE ",\"mlp_layer_types\":[\"dense\",\"sparse\",\"sparse\",\"dense\"]}", "fFFf");
    refused(QWEN3_MOE ",\"mlp_layer_types\":[\"dense\"]}", "1 entries for 4 layers");
    refused(QWEN3_MOE ",\"mlp_layer_types\":[\"dense\",\"x\",\"dense\",\"dense\"]}",
            "expected \"dense\" or \"sparse\"");
    refused(QWEN3_MOE ",\"mlp_only_layers\":1}", "expected an array of layers");
    refused(QWEN3_MOE ",\"mlp_only_layers\":[4]}", "expected a layer below 4");
    refused(QWEN3_MOE ",\"mlp_only_layers\":[1.5]}", "expected a layer below 4");
    refused(QWEN3_MOE ",\"decoder_sparse_step\":\"x\"}", "decoder_sparse_step");
}
END_TEST

/* An image is looked at in some layers. */
START_TEST(cross_attention) {
    kinds(MLLAMA ",\"cross_attention_layers\":[1,3]}}", "fcfc");
    kinds(MLLAMA "}}", "ffff");
    refused(MLLAMA ",\"cross_attention_layers\":[9]}}", "expected a layer below 4");
}
END_TEST

/* A pattern of letters, or the same in words. */
START_TEST(hybrids) {
    kinds(NEMOTRON ",\"hybrid_override_pattern\":\"ME*-\"}", "mEf.");
    kinds(NEMOTRON ",\"layers_block_type\":[\"mamba\",\"moe\",\"attention\",\"mlp\"]}", "mEf.");
    refused(NEMOTRON "}", "expected \"hybrid_override_pattern\", a string");
    refused(NEMOTRON ",\"hybrid_override_pattern\":5}", "hybrid_override_pattern");
    refused(NEMOTRON ",\"hybrid_override_pattern\":\"ME*\"}", "3 letters for 4 layers");
    refused(NEMOTRON ",\"hybrid_override_pattern\":\"ME*x\"}", "found 'x', expected M, E, * or -");
    refused(NEMOTRON ",\"layers_block_type\":[\"mamba\",\"x\"]}", "expected mamba, attention");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model_hf_layers");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, windows);
    tcase_add_test(tests, experts);
    tcase_add_test(tests, cross_attention);
    tcase_add_test(tests, hybrids);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
