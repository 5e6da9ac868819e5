/* Models: parameter counts tensor by tensor, files of both kinds, and what is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/data.h"
#include "base/json.h"
#include "base/text.h"
#include "model_helpers.h"
#include "unit/suite.h"

static const struct vs_model *model_of_text(const char *text) {
    write_text(text);
    return model_of(file);
}

static void refused(const char *text, const char *says) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    write_text(text);
    ck_assert_msg(!vs_model_load(&arena, file, &model, &err), "taken: %s", text);
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s\n  for %s", err.text, text);
    ck_assert_msg(strstr(err.text, "config.json:") != NULL, "no place: %s", err.text);
    ck_assert_ptr_null(model);
}

static const struct vs_tensor *tensor_of(const struct vs_model *model, const char *name) {
    for (size_t i = 0; i < model->tensor_count; i++)
        if (vs_streq(model->tensors[i].name, name))
            return &model->tensors[i];
    ck_abort_msg("no tensor %s", name);
    return NULL;
}

/* Published totals (sources in the model files); linears inside the layers by hand. */
START_TEST(published_parameters) {
    static const struct {
        const char *name;
        uint64_t total, linear;
    } want[] = {
        {"llama-2-7b", 6738415616, 6476005376},
        {"llama-2-13b", 13015864320, 12687769600},
        {"llama-2-70b", 68976648192, 68451041280},
        {"llama-3-8b", 8030261248, 6979321856},
        {"llama-3-70b", 70553706496, 68451041280},
        {"llama-3.1-8b", 8030261248, 6979321856},
        {"llama-3.1-70b", 70553706496, 68451041280},
        {"mistral-7b-v0.1", 7241732096, 6979321856},
        {"mistral-7b-v0.2", 7241732096, 6979321856},
        {"mistral-7b-v0.3", 7248023552, 6979321856},
        {"llama-7b", 6738415616, 6476005376},
        {"llama-13b", 13015864320, 12687769600},
        {"llama-30b", 32528943616, 32102154240},
        {"llama-65b", 65285660672, 64760053760},
        {"toy", 6293760, 4 << 20},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct vs_model *model = model_of(want[i].name);
        ck_assert_str_eq(model->name, want[i].name);
        ck_assert_uint_eq(model->params_total, want[i].total);
        ck_assert_uint_eq(model->params_active, want[i].total);
        ck_assert_uint_eq(model->params_linear, want[i].linear);
    }
}
END_TEST

/* Each alias of a file leads back to it, so that no two files share one. */
static void check_aliases(const char *path, const char *name) {
    const struct vs_json *root = NULL;
    struct vs_err err = {0};
    ck_assert(vs_json_load(&arena, path, &root, &err));
    const struct vs_json *list = vs_json_member(root, "aliases");
    for (const struct vs_json *alias = list ? list->child : NULL; alias; alias = alias->next)
        ck_assert_str_eq(model_of(alias->string)->name, name);
}

/* Every file in the data folder loads and is named as its file. */
START_TEST(every_file_loads) {
    const char *const *names = NULL;
    size_t count = 0;
    struct vs_err err = {0};
    ck_assert(vs_data_list(&arena, "workloads/models", &names, &count, &err));
    ck_assert_uint_ge(count, 202);
    for (size_t i = 0; i < count; i++) {
        const struct vs_model *model = model_of(names[i]);
        ck_assert_str_eq(model->name, names[i]);
        if (model->hf_id)
            ck_assert_str_eq(model_of(model->hf_id)->name, names[i]);
        check_aliases(model->file, names[i]);
    }
}
END_TEST

START_TEST(aliases) {
    ck_assert_str_eq(model_of("llama3-70b")->name, "llama-3-70b");
    ck_assert_str_eq(model_of("meta-llama/Meta-Llama-3-70B")->name, "llama-3-70b");
    ck_assert_str_eq(model_of("meta-llama/meta-llama-3-70b")->name, "llama-3-70b");
    ck_assert_str_eq(model_of("llama2-7b")->name, "llama-2-7b");
    ck_assert_str_eq(model_of("mistral-7b")->name, "mistral-7b-v0.1");
    ck_assert_str_eq(model_of("llama-33b")->name, "llama-30b");
}
END_TEST

START_TEST(unknown_model) {
    const struct vs_model *model = NULL;
    struct vs_err err = {0};
    ck_assert(!vs_model_load(&arena, "llama-3-80b", &model, &err));
    ck_assert_int_eq((int)err.status, (int)VS_ERR_INPUT);
    ck_assert_msg(strstr(err.text, "unknown model 'llama-3-80b'") && strstr(err.text, "llama-3-8b"),
                  "%s", err.text);
}
END_TEST

/* toy: embedding, 4 layers of 2 norms + 4 + 3 matrices, a norm, a head. */
START_TEST(tensors_in_order) {
    const struct vs_model *toy = model_of("toy");
    ck_assert_uint_eq(toy->tensor_count, 1 + 4 * 9 + 2);
    ck_assert_str_eq(toy->tensors[0].name, "model.embed_tokens.weight");
    ck_assert_str_eq(toy->tensors[0].gguf_name, "token_embd.weight");
    ck_assert_int_eq(toy->tensors[0].layer, -1);
    ck_assert_str_eq(toy->tensors[1].name, "model.layers.0.input_layernorm.weight");
    ck_assert_str_eq(toy->tensors[1].gguf_name, "blk.0.attn_norm.weight");
    ck_assert_str_eq(toy->tensors[9].gguf_name, "blk.0.ffn_down.weight");
    ck_assert_str_eq(toy->tensors[37].name, "model.norm.weight");
    ck_assert_str_eq(toy->tensors[38].name, "lm_head.weight");
    ck_assert_str_eq(toy->tensors[38].gguf_name, "output.weight");
    ck_assert_int_eq((int)toy->tensors[38].role, (int)VS_ROLE_HEAD);
}
END_TEST

START_TEST(shapes_of_gqa) {
    const struct vs_model *m = model_of("llama-3-70b");
    const struct vs_tensor *k = tensor_of(m, "model.layers.79.self_attn.k_proj.weight");
    ck_assert_uint_eq(k->rows, 1024); /* 8 KV heads of 128 */
    ck_assert_uint_eq(k->cols, 8192);
    ck_assert_int_eq(k->layer, 79);
    ck_assert_str_eq(k->gguf_name, "blk.79.attn_k.weight");
    ck_assert_uint_eq(vs_tensor_params(k), 8388608);
    ck_assert(vs_role_is_linear(k->role));
    ck_assert(!vs_role_is_linear(VS_ROLE_HEAD));
    ck_assert(!vs_role_is_linear(VS_ROLE_NORM));
    ck_assert(!vs_role_is_linear(VS_ROLE_EMBED));
}
END_TEST

/* LoRA of rank 1 on a matrix has rows + cols parameters: all seven linears of Llama 2 7B 2,498,560,
 * of Llama 3 8B 2,621,440, of Llama 3 70B 12,943,360. */
START_TEST(lora_of_rank_one) {
    static const struct {
        const char *name;
        uint64_t params;
    } want[] = {{"llama-2-7b", 2498560},
                {"llama-2-13b", 3911680},
                {"llama-3-8b", 2621440},
                {"llama-3-70b", 12943360}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const struct vs_model *model = model_of(want[i].name);
        uint64_t sum = 0;
        for (size_t k = 0; k < model->tensor_count; k++)
            if (vs_role_is_linear(model->tensors[k].role))
                sum += model->tensors[k].rows + model->tensors[k].cols;
        ck_assert_uint_eq(sum, want[i].params);
    }
}
END_TEST

static uint64_t kv_bytes(const struct vs_model *model, uint64_t cells, const char *type) {
    const struct vs_type *found = vs_type_find(type);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < model->layers; i++)
        sum += vs_kv_layer_bytes(model, i, cells, found, found);
    return sum;
}

START_TEST(kv_cache) {
    const struct vs_model *m = model_of("llama-2-7b");
    ck_assert_uint_eq(kv_bytes(m, 8192, "fp16"), 4294967296);
    ck_assert_uint_eq(kv_bytes(m, 32768, "fp16"), 16ULL << 30);
    ck_assert_uint_eq(kv_bytes(m, 4096, "f16"), 2ULL << 30);
    ck_assert_uint_eq(kv_bytes(m, 4096, "q8_0"), 1088ULL << 20);
    ck_assert_uint_eq(kv_bytes(m, 4096, "q4_0"), 576ULL << 20);
    ck_assert_uint_eq(kv_bytes(m, 4096, "fp8"), 1ULL << 30);
    ck_assert_uint_eq(kv_bytes(m, 4096, "int8"), 1088ULL << 20);
    ck_assert_uint_eq(kv_bytes(model_of("llama-3-8b"), 16, "bf16"), 2 << 20);
    /* K in q8_0 and V in f16: 272 + 512 bytes per cell of a layer of toy */
    m = model_of("toy");
    ck_assert_uint_eq(vs_kv_layer_bytes(m, 0, 10, vs_type_find("q8_0"), vs_type_find("f16")), 7840);
}
END_TEST

START_TEST(windows) {
    const struct vs_model *m = model_of("mistral-7b-v0.1");
    ck_assert_uint_eq(vs_layer_window(m, 0), 4096);
    ck_assert_uint_eq(vs_layer_window(m, 31), 4096);
    ck_assert_uint_eq(vs_layer_window(m, 32), 0);
    ck_assert_uint_eq(vs_layer_window(model_of("mistral-7b-v0.2"), 0), 0);
}
END_TEST

#define OURS "{\"schema\":\"vramsim-model/1\",\"name\":\"x\",\"source\":\"test\","
#define SMALL "\"layers\":2,\"hidden\":8,\"heads\":2,\"vocab\":10,\"max_ctx\":16"

/* Per layer: router 4 x 8 = 32, experts 4 x 3 x 8 x 16 = 1536 (2 of 4 active: 768), attention 256,
 * norms 16; ends 2 x 80 + 8. Total 2 x 1840 + 168 = 3848, active 768 x 2 less. */
START_TEST(mixture_of_experts) {
    const struct vs_model *m =
        model_of_text(OURS SMALL ",\"moe\":{\"experts\":4,\"experts_active\":2,\"ffn\":16},"
                                 "\"params_total\":3848}");
    const struct vs_tensor *up = tensor_of(m, "model.layers.1.mlp.experts.*.up_proj.weight");
    ck_assert_uint_eq(up->count, 4);
    ck_assert_str_eq(up->gguf_name, "blk.1.ffn_up_exps.weight");
    ck_assert_uint_eq(m->params_total, 3848);
    ck_assert_uint_eq(m->params_active, 3848 - 2 * 768);
    ck_assert_uint_eq(m->params_linear, 2 * (32 + 1536 + 256));
    ck_assert_int_eq((int)tensor_of(m, "model.layers.0.mlp.gate.weight")->role,
                     (int)VS_ROLE_ROUTER);
}
END_TEST

/* Mixtral 8x7B: the published total and active counts. */
START_TEST(mixtral) {
    const struct vs_model *m = model_of_text(
        OURS "\"layers\":32,\"hidden\":4096,\"heads\":32,\"kv_heads\":8,\"vocab\":32000,"
             "\"max_ctx\":32768,\"moe\":{\"experts\":8,\"experts_active\":2,\"ffn\":14336},"
             "\"params_total\":46702792704}");
    ck_assert_uint_eq(m->params_active, 12879925248);
}
END_TEST

/* GPT-2: 12 x (4 x 768^2 + 4 x 768 + 8 x 768^2 + 5 x 768 + 4 x 768) + (50257 + 1024 + 2) x 768 */
START_TEST(gpt2) {
    const struct vs_model *m = model_of_text(
        OURS "\"layers\":12,\"hidden\":768,\"heads\":12,\"ffn\":3072,\"vocab\":50257,"
             "\"max_ctx\":1024,\"tied_embeddings\":true,\"gated_mlp\":false,\"attn_bias\":true,"
             "\"mlp_bias\":true,\"norm_bias\":true,\"learned_positions\":1024}");
    ck_assert_uint_eq(m->params_total, 124439808);
    ck_assert_str_eq(tensor_of(m, "model.embed_positions.weight")->gguf_name,
                     "position_embd.weight");
    ck_assert_uint_eq(tensor_of(m, "model.layers.3.mlp.up_proj.bias")->cols, 3072);
    ck_assert_str_eq(m->tensors[m->tensor_count - 1].name, "model.norm.bias"); /* no head */
}
END_TEST

/* Qwen2-like biases on q, k and v only (3 x 8 per layer); Qwen3-like norms on q and k (2 x 4). */
START_TEST(qkv_bias_and_qk_norm) {
    const uint64_t plain = model_of_text(OURS SMALL ",\"ffn\":16}")->params_total;
    const struct vs_model *m = model_of_text(OURS SMALL ",\"ffn\":16,\"attn_bias\":\"qkv\"}");
    ck_assert_uint_eq(m->params_total, plain + 2 * 24);
    m = model_of_text(OURS SMALL ",\"ffn\":16,\"qk_norm\":true}");
    ck_assert_uint_eq(m->params_total, plain + 2 * 8);
    ck_assert_str_eq(tensor_of(m, "model.layers.0.self_attn.q_norm.weight")->gguf_name,
                     "blk.0.attn_q_norm.weight");
}
END_TEST

START_TEST(our_files_refused) {
    refused("{", "config.json:");
    refused("[]", "object");
    refused("{}", "neither a model file");
    refused("{\"schema\":\"vramsim-model/9\"}", "vramsim-model/1");
    refused("{\"schema\":3}", "vramsim-model/1");
    refused(OURS SMALL ",\"ffn\":16,\"params_total\":1}", "1 parameters published");
    refused(OURS SMALL ",\"ffn\":16,\"hiden\":1}", "unknown key 'hiden'");
    refused(OURS SMALL ",\"ffn\":16,\"layers\":2}", "layers");
    refused(OURS SMALL ",\"ffn\":\"16\"}", "string");
    refused(OURS SMALL ",\"ffn\":-16}", "ffn");
    refused(OURS SMALL ",\"ffn\":1e30}", "ffn");
    refused(OURS SMALL "}", "ffn");
    refused(OURS SMALL ",\"ffn\":16,\"kv_heads\":3}", "can't share 3 KV heads");
    refused(OURS SMALL ",\"ffn\":16,\"mla\":{}}", "no key 'kv_rank'");
    refused(OURS SMALL ",\"ffn\":16,\"mamba\":{\"heads\":0}}", "$.mamba.heads");
    refused(OURS SMALL ",\"ffn\":16,\"norms_per_layer\":3}", "expected 1, 2, 4 or 7");
    refused(OURS SMALL ",\"ffn\":16,\"qk_norm\":\"some\"}", "true, false or \"all\"");
    refused(OURS SMALL ",\"ffn\":16,\"stored_format\":\"fp9\"}", "unknown format 'fp9'");
    refused(OURS SMALL ",\"ffn\":16,\"hybrid_pattern\":\"M\"}", "1 letters for 2 layers");
    refused(OURS SMALL ",\"ffn\":16,\"hybrid_pattern\":\"MX\"}", "found 'X'");
    refused(OURS SMALL ",\"ffn\":16,\"hybrid_pattern\":\"M-\"}", "some layers are Mamba");
    refused(OURS SMALL ",\"ffn\":16,\"kv_borrowers\":2}", "2 of 2 layers can't borrow");
    refused(OURS SMALL ",\"ffn\":16,\"attn_bias\":\"q\"}", "true, false or \"qkv\"");
    refused(OURS SMALL ",\"ffn\":16,\"attention\":[]}", "at least one entry");
    refused(OURS SMALL ",\"ffn\":16,\"attention\":[3]}", "object");
    refused(OURS SMALL ",\"ffn\":16,\"attention\":[{\"layers\":\"all\",\"window\":0}]}", "window");
    refused(OURS SMALL ",\"moe\":{\"experts\":2,\"experts_active\":3,\"ffn\":4}}",
            "3 active experts of 2");
    refused(OURS SMALL ",\"moe\":{\"experts\":2,\"experts_active\":1,\"ffn\":4,"
                       "\"shared_experts\":1}}",
            "shared_experts and shared_ffn go together");
    refused(OURS SMALL ",\"moe\":{\"experts\":2,\"experts_active\":1,\"ffn\":4,"
                       "\"layers\":\"1-\"}}",
            "missing, but layer 0 has no experts");
    refused(OURS "\"layers\":4096,\"hidden\":1048576,\"heads\":16384,\"vocab\":10,\"max_ctx\":16,"
                 "\"ffn\":16777216}",
            "at most 1e15");
}
END_TEST

#define LAYERS(entries)                                                                            \
    OURS "\"layers\":12,\"hidden\":8,\"heads\":2,\"vocab\":10,\"ffn\":16,\"attention\":[" entries  \
         "]}"
#define WINDOW(layers) "{\"layers\":\"" layers "\",\"window\":4}"

/* 'W' where a layer has a window. */
static void check_windows(const char *text, const char *want) {
    const struct vs_model *m = model_of_text(text);
    for (uint32_t i = 0; i < m->layers; i++)
        ck_assert_msg((vs_layer_window(m, i) == 4) == (want[i] == 'W'), "layer %u of %s", i, text);
}

START_TEST(sets_of_layers) {
    check_windows(LAYERS(WINDOW("all")), "WWWWWWWWWWWW");
    check_windows(LAYERS(WINDOW("3")), "...W........");
    check_windows(LAYERS(WINDOW("0-3,7")), "WWWW...W....");
    check_windows(LAYERS(WINDOW("9-")), ".........WWW");
    check_windows(LAYERS(WINDOW("0 of 2")), "W.W.W.W.W.W.");
    check_windows(LAYERS(WINDOW("0-4 of 6")), "WWWWW.WWWWW.");
    check_windows(LAYERS(WINDOW("1,3- of 5")), ".W.WW.W.WW.W");
    check_windows(LAYERS("{\"layers\":\"0-1\",\"chunk\":4}"), "WW..........");
    ck_assert(model_of(file)->window_is_chunk);
}
END_TEST

START_TEST(sets_of_layers_refused) {
    static const char *const bad[] = {WINDOW(""),          WINDOW("12"),     WINDOW("3-1"),
                                      WINDOW("1,1"),       WINDOW("3,1"),    WINDOW("some"),
                                      WINDOW("1 of 0"),    WINDOW("2 of 2"), WINDOW("0 of 13"),
                                      WINDOW("1,"),        WINDOW("-1"),     WINDOW("0 of 2 of 2"),
                                      WINDOW("4294967297")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, LAYERS("%s"), bad[i]);
        refused(text, "expected layers below 12");
    }
    refused(LAYERS("{\"layers\":\"all\"}"), "expected \"window\", \"chunk\", \"kind\"");
    refused(LAYERS("{\"window\":4}"), "no key 'layers'");
    refused(LAYERS("{\"layers\":\"all\",\"kind\":\"odd\"}"), "linear, mamba or cross");
    refused(LAYERS("{\"layers\":\"all\",\"kind\":\"linear\"}"), "linear attention");
    refused(LAYERS(WINDOW("0") "," WINDOW("1")), "found two");
    refused(LAYERS(WINDOW("0-3") ",{\"layers\":\"3\",\"kind\":\"cross\"}"),
            "layer 3 stands in two entries");
    refused(LAYERS("{\"layers\":\"0\",\"kv_heads\":1}"), "no key 'head_dim'");
    refused(LAYERS("{\"layers\":\"0\",\"kv_heads\":3,\"head_dim\":4}"), "can't share 3 KV heads");
}
END_TEST

#define HF_7B                                                                                      \
    "\"hidden_size\":4096,\"num_hidden_layers\":32,\"num_attention_heads\":32,"                    \
    "\"intermediate_size\":14336,\"vocab_size\":32000,\"max_position_embeddings\":32768,"          \
    "\"rope_theta\":10000.0,\"torch_dtype\":\"bfloat16\""
#define MISTRAL "{\"architectures\":[\"MistralForCausalLM\"],"
#define LLAMA "{\"architectures\":[\"LlamaForCausalLM\"],"

START_TEST(hf_config) {
    const struct vs_model *m =
        model_of_text(MISTRAL HF_7B ",\"num_key_value_heads\":8,\"sliding_window\":4096,"
                                    "\"_name_or_path\":\"mistralai/Mistral-7B-v0.1\"}");
    ck_assert_uint_eq(m->params_total, 7241732096);
    ck_assert_uint_eq(m->window, 4096);
    ck_assert_uint_eq(m->head_dim, 128);
    ck_assert_str_eq(m->family, "mistral");
    ck_assert_str_eq(m->hf_id, "mistralai/Mistral-7B-v0.1");
    ck_assert_str_eq(m->name, strrchr(folder, '/') + 1); /* the folder's name */
    m = model_of_text(MISTRAL HF_7B ",\"num_key_value_heads\":8,\"sliding_window\":null}");
    ck_assert_uint_eq(m->window, 0);
    m = model_of_text(MISTRAL HF_7B "}"); /* the class's own defaults */
    ck_assert_uint_eq(m->kv_heads, 8);
    ck_assert_uint_eq(m->window, 4096);
    m = model_of_text(LLAMA HF_7B ",\"sliding_window\":4096,\"attention_bias\":true,"
                                  "\"tie_word_embeddings\":true}");
    ck_assert_uint_eq(m->kv_heads, 32); /* as many as heads */
    ck_assert_uint_eq(m->window, 0);
    ck_assert(m->attn_bias && m->attn_out_bias && m->tied_embeddings);
    m = model_of_text("{\"model_type\":\"llama\"," HF_7B ",\"head_dim\":64,"
                      "\"sliding_window\":8}");
    ck_assert_uint_eq(m->head_dim, 64);
}
END_TEST

/* Other spellings of the same keys; an invalid first spelling doesn't stop the next. */
START_TEST(hf_aliases) {
    const struct vs_model *m =
        model_of_text(LLAMA "\"n_embd\":64,\"hidden_size\":\"no\",\"n_layer\":2,\"n_head\":4,"
                            "\"n_inner\":128,\"vocab_size\":10,\"n_positions\":16}");
    ck_assert_uint_eq(m->hidden, 64);
    ck_assert_uint_eq(m->layers, 2);
    ck_assert_uint_eq(m->heads, 4);
    ck_assert_uint_eq(m->ffn, 128);
    ck_assert_uint_eq(m->max_ctx, 16);
    m = model_of_text(LLAMA "\"d_model\":64,\"num_layers\":2,\"num_heads\":4,\"vocab_size\":10,"
                            "\"n_ctx\":16,\"num_kv_heads\":2}");
    ck_assert_uint_eq(m->ffn, 256); /* 4 x hidden */
    ck_assert_uint_eq(m->kv_heads, 2);
}
END_TEST

START_TEST(hf_refused) {
    refused("{\"architectures\":[\"Qwen9ForCausalLM\"]}",
            "unknown architecture 'Qwen9ForCausalLM'; nearest: Qwen2ForCausalLM, Qwen3ForCausalLM");
    refused("{\"architectures\":[3]}", "no architecture named");
    refused("{\"architectures\":[]}", "no architecture named");
    refused(LLAMA "\"hidden_size\":4096}", "num_hidden_layers");
    refused(LLAMA HF_7B ",\"num_key_value_heads\":0}", "num_key_value_heads");
    refused(LLAMA HF_7B ",\"num_key_value_heads\":5}", "can't share 5 KV heads");
    refused(LLAMA HF_7B ",\"head_dim\":1.5}", "head_dim");
    refused(LLAMA HF_7B ",\"mlp_bias\":1}", "true or false");
    refused(LLAMA HF_7B ",\"text_config\":3}", "$.text_config: expected an object");
    refused(LLAMA HF_7B ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]}",
            "2 entries for 32 layers");
    refused(LLAMA HF_7B ",\"layer_types\":[]}", "array of strings");
    refused(LLAMA "\"num_hidden_layers\":1,\"hidden_size\":8,\"num_attention_heads\":2,"
                  "\"vocab_size\":9,\"layer_types\":[\"linear\"]}",
            "unknown kind of attention 'linear'");
    refused("{\"model_type\":\"llama\",\"hidden_size\":10,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":3,\"vocab_size\":5,\"max_position_embeddings\":7}",
            "3 heads don't divide");
    refused("{\"model_type\":\"llama\",\"hidden_size\":1e30,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":3,\"vocab_size\":5,\"max_position_embeddings\":7}",
            "hidden_size");
}
END_TEST

static void override_refused(const char *path, const char *value, const char *says) {
    const struct vs_model *before = model_of("toy"), *model = before;
    struct vs_err err = {0};
    ck_assert_msg(!vs_model_override(&arena, &model, path, value, &err), "%s=%s", path, value);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
    ck_assert_ptr_eq(model, before);
}

START_TEST(overrides) {
    const struct vs_model *model = model_of("toy"), *before = model;
    struct vs_err err = {0};
    ck_assert(vs_model_override(&arena, &model, "layers", "5", &err));
    ck_assert_uint_eq(model->params_linear, 5 << 20);
    ck_assert_uint_eq(before->params_linear, 4 << 20);
    ck_assert(vs_model_override(&arena, &model, "max_ctx", "8k", &err));
    ck_assert_uint_eq(model->max_ctx, 8192);
    model = model_of("mistral-7b-v0.1");
    ck_assert(vs_model_override(&arena, &model, "window", "0", &err));
    ck_assert_uint_eq(vs_layer_window(model, 0), 0);

    override_refused("layer", "5", "nearest: layers");
    override_refused("layers", "0", "expected 1 to 4096");
    override_refused("layers", "-1", "model.layers");
    override_refused("layers", "many", "model.layers");
    override_refused("kv_heads", "3", "can't share");
    override_refused("experts_active", "6", "6 active experts of 0");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("model");
    TCase *tests = tcase_create("all");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, published_parameters);
    tcase_add_test(tests, every_file_loads);
    tcase_add_test(tests, aliases);
    tcase_add_test(tests, unknown_model);
    tcase_add_test(tests, tensors_in_order);
    tcase_add_test(tests, shapes_of_gqa);
    tcase_add_test(tests, lora_of_rank_one);
    tcase_add_test(tests, kv_cache);
    tcase_add_test(tests, windows);
    tcase_add_test(tests, mixture_of_experts);
    tcase_add_test(tests, mixtral);
    tcase_add_test(tests, gpt2);
    tcase_add_test(tests, qkv_bias_and_qk_norm);
    tcase_add_test(tests, our_files_refused);
    tcase_add_test(tests, sets_of_layers);
    tcase_add_test(tests, sets_of_layers_refused);
    tcase_add_test(tests, hf_config);
    tcase_add_test(tests, hf_aliases);
    tcase_add_test(tests, hf_refused);
    tcase_add_test(tests, overrides);
    suite_add_tcase(suite, tests);

    return run_suite(suite);
}
