#include "import/deepspeed.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* What a key's value is, and what becomes of it. */
enum key_kind {
    KEY_IGNORED,  /* changes neither memory nor time as they are simulated */
    KEY_COUNT,    /* a whole number: the axis takes it */
    KEY_ELEMENTS, /* elements of gradients: the axis takes their bytes */
    KEY_SWITCH,   /* true or false: on or off */
    KEY_PLACE,    /* "none", "cpu" or "nvme" */
    KEY_OFF,      /* a mechanism that is not modelled: false, or the number that turns it off */
    KEY_OWN       /* read by a function of its own */
};

struct key {
    const char *name;
    enum key_kind kind;
    enum vs_axis axis;
    double off; /* KEY_OFF: the number that turns it off, beside false */
};

/* Keys and their meaning: deepspeedai/DeepSpeed: deepspeed/runtime/config.py, constants.py,
 * zero/config.py, zero/offload_config.py, activation_checkpointing/config.py, and
 * docs/_pages/config-json.md. */
static const struct key TOP[] = {
    {"train_batch_size", .kind = KEY_OWN},
    {"train_micro_batch_size_per_gpu", KEY_COUNT, VS_AXIS_MICRO_BATCH, 0},
    {"gradient_accumulation_steps", KEY_COUNT, VS_AXIS_ACCUM, 0},
    {"zero_optimization", .kind = KEY_OWN},
    {"fp16", .kind = KEY_OWN},
    {"bf16", .kind = KEY_OWN},
    {"optimizer", .kind = KEY_OWN},
    {"data_types", .kind = KEY_OWN},
    {"activation_checkpointing", .kind = KEY_OWN},
    {"sparse_attention", .kind = KEY_OFF},
    {"amp", .kind = KEY_IGNORED},
    {"scheduler", .kind = KEY_IGNORED},
    {"gradient_clipping", .kind = KEY_IGNORED},
    {"prescale_gradients", .kind = KEY_IGNORED},
    {"gradient_predivide_factor", .kind = KEY_IGNORED},
    {"sparse_gradients", .kind = KEY_IGNORED},
    {"communication_data_type", .kind = KEY_IGNORED},
    {"disable_allgather", .kind = KEY_IGNORED},
    {"zero_allow_untested_optimizer", .kind = KEY_IGNORED},
    {"zero_force_ds_cpu_optimizer", .kind = KEY_IGNORED},
    {"steps_per_print", .kind = KEY_IGNORED},
    {"wall_clock_breakdown", .kind = KEY_IGNORED},
    {"memory_breakdown", .kind = KEY_IGNORED},
    {"dump_state", .kind = KEY_IGNORED},
    {"tensorboard", .kind = KEY_IGNORED},
    {"wandb", .kind = KEY_IGNORED},
    {"comet", .kind = KEY_IGNORED},
    {"csv_monitor", .kind = KEY_IGNORED},
    {"flops_profiler", .kind = KEY_IGNORED},
    {"comms_logger", .kind = KEY_IGNORED},
    {"aio", .kind = KEY_IGNORED},
    {"checkpoint", .kind = KEY_IGNORED},
    {"data_efficiency", .kind = KEY_IGNORED},
    {"curriculum_learning", .kind = KEY_IGNORED},
    {"dataloader_drop_last", .kind = KEY_IGNORED},
    {"seed", .kind = KEY_IGNORED},
};

static const struct key ZERO[] = {
    {"stage", KEY_COUNT, VS_AXIS_ZERO, 0},
    {"reduce_bucket_size", KEY_ELEMENTS, VS_AXIS_ZERO_BUCKET, 0},
    {"overlap_comm", KEY_SWITCH, VS_AXIS_OVERLAP_COMM, 0},
    {"contiguous_gradients", KEY_SWITCH, VS_AXIS_CONTIGUOUS_GRADS, 0},
    {"sub_group_size", KEY_COUNT, VS_AXIS_ZERO_TILE, 0},
    {"stage3_max_live_parameters", KEY_COUNT, VS_AXIS_ZERO_LIVE, 0},
    {"stage3_prefetch_bucket_size", KEY_COUNT, VS_AXIS_ZERO_PREFETCH, 0},
    {"stage3_param_persistence_threshold", KEY_COUNT, VS_AXIS_ZERO_PERSIST, 0},
    {"offload_optimizer", .kind = KEY_OWN},
    {"offload_param", .kind = KEY_OWN},
    {"cpu_offload", .kind = KEY_OWN}, /* until 0.3.16, now offload_optimizer */
    {"mics_shard_size", .kind = KEY_OWN},
    {"zero_hpz_partition_size", .kind = KEY_OFF, .off = 1},
    {"zero_quantized_weights", .kind = KEY_OFF},
    {"zero_quantized_nontrainable_weights", .kind = KEY_OFF},
    {"zero_quantized_gradients", .kind = KEY_OFF},
    {"zenflow", .kind = KEY_OFF},
    {"allgather_bucket_size", .kind = KEY_IGNORED}, /* new weights are gathered in place */
    {"allgather_partitions", .kind = KEY_IGNORED},
    {"reduce_scatter", .kind = KEY_IGNORED},
    {"stage3_max_reuse_distance", .kind = KEY_IGNORED},
    {"stage3_model_persistence_threshold", .kind = KEY_IGNORED},
    {"stage3_gather_16bit_weights_on_model_save", .kind = KEY_IGNORED},
    {"stage3_gather_fp16_weights_on_model_save", .kind = KEY_IGNORED},
    {"stage3_use_all_reduce_for_fetch_params", .kind = KEY_IGNORED},
    {"stage3_module_granularity_threshold", .kind = KEY_IGNORED},
    {"round_robin_gradients", .kind = KEY_IGNORED},
    {"ignore_unused_parameters", .kind = KEY_IGNORED},
    {"use_multi_rank_bucket_allreduce", .kind = KEY_IGNORED},
    {"load_from_fp32_weights", .kind = KEY_IGNORED},
    {"elastic_checkpoint", .kind = KEY_IGNORED},
    {"legacy_stage1", .kind = KEY_IGNORED},
    {"override_module_apply", .kind = KEY_IGNORED},
    {"memory_efficient_linear", .kind = KEY_IGNORED},
    {"mics_hierarchical_params_gather", .kind = KEY_IGNORED},
    {"pipeline_loading_checkpoint", .kind = KEY_IGNORED},
    {"log_trace_cache_warnings", .kind = KEY_IGNORED},
};

static const struct key OFFLOAD_OPTIM[] = {
    {"device", KEY_PLACE, VS_AXIS_OFFLOAD_OPTIM, 0},
    {"pin_memory", KEY_SWITCH, VS_AXIS_PIN_MEMORY, 0},
    {"buffer_count", KEY_COUNT, VS_AXIS_OPTIM_BUFFERS, 0},
    {"pipeline_read", .kind = KEY_IGNORED},
    {"pipeline_write", .kind = KEY_IGNORED},
    {"pipeline", .kind = KEY_IGNORED},
    {"nvme_path", .kind = KEY_IGNORED},
    {"fast_init", .kind = KEY_IGNORED},
    {"cpuadam_cores_perc", .kind = KEY_IGNORED},
    {"ratio", .kind = KEY_OFF, .off = 1}, /* a part of the update on the GPU */
    {"super_offload", .kind = KEY_OFF},
};

static const struct key OFFLOAD_PARAM[] = {
    {"device", KEY_PLACE, VS_AXIS_OFFLOAD_PARAM, 0},
    {"pin_memory", KEY_SWITCH, VS_AXIS_PIN_MEMORY, 0},
    {"buffer_count", KEY_COUNT, VS_AXIS_PARAM_BUFFERS, 0},
    {"buffer_size", KEY_COUNT, VS_AXIS_PARAM_BUFFER, 0},
    {"nvme_path", .kind = KEY_IGNORED},
    {"max_in_cpu", .kind = KEY_IGNORED},
};

static const struct key HALF[] = {
    {"enabled", .kind = KEY_OWN},
    {"auto_cast", .kind = KEY_IGNORED},
    {"loss_scale", .kind = KEY_IGNORED},
    {"initial_scale_power", .kind = KEY_IGNORED},
    {"loss_scale_window", .kind = KEY_IGNORED},
    {"hysteresis", .kind = KEY_IGNORED},
    {"consecutive_hysteresis", .kind = KEY_IGNORED},
    {"min_loss_scale", .kind = KEY_IGNORED},
    {"immediate_grad_update", .kind = KEY_IGNORED},
    {"check_grad_overflow", .kind = KEY_IGNORED},
    {"fp16_master_weights_and_grads", .kind = KEY_OFF},
    {"bf16_master_weights_and_grads", .kind = KEY_OFF},
    {"bf16_optimizer_states", .kind = KEY_OFF},
};

static const struct key CHECKPOINTING[] = {
    {"cpu_checkpointing", .kind = KEY_OWN},
    {"partition_activations", .kind = KEY_OFF},
    {"contiguous_memory_optimization", .kind = KEY_IGNORED},
    {"number_checkpoints", .kind = KEY_IGNORED},
    {"synchronize_checkpoint_boundary", .kind = KEY_IGNORED},
    {"profile", .kind = KEY_IGNORED},
};

static const struct key OPTIMIZER[] = {
    {"type", .kind = KEY_OWN},
    {"params", .kind = KEY_OWN},
    {"legacy_fusion", .kind = KEY_IGNORED},
};

static const struct key OPTIMIZER_PARAMS[] = {
    {"momentum", .kind = KEY_OWN},
    {"torch_adam", .kind = KEY_IGNORED},
    {"adam_w_mode", .kind = KEY_IGNORED},
    {"lr", .kind = KEY_IGNORED},
    {"betas", .kind = KEY_IGNORED},
    {"eps", .kind = KEY_IGNORED},
    {"weight_decay", .kind = KEY_IGNORED},
    {"bias_correction", .kind = KEY_IGNORED},
    {"amsgrad", .kind = KEY_IGNORED},
    {"nesterov", .kind = KEY_IGNORED},
    {"dampening", .kind = KEY_IGNORED},
    {"set_grad_none", .kind = KEY_IGNORED},
    {"fp32_optimizer_states", .kind = KEY_IGNORED},
};

static const struct key DATA_TYPES[] = {{"grad_accum_dtype", .kind = KEY_OWN}};

struct reading {
    struct vs_arena *arena;
    struct vs_deepspeed out;
    unsigned grad_element; /* bytes of a reduced gradient */
};

/* ---- one key ---- */

static bool is_auto(const struct vs_json *node) {
    return node->kind == VS_JSON_STRING && vs_streq(node->string, "auto");
}

static const char *where_of(const struct reading *d, const struct vs_json_reader *r,
                            const struct vs_json *node) {
    return vs_arena_printf(d->arena, "%s:%d:%d: at %s.%s", r->file, node->line, node->column,
                           r->path, node->key);
}

static bool give(struct reading *d, const struct vs_json_reader *r, const struct vs_json *node,
                 enum vs_axis axis, const char *word, struct vs_err *err) {
    const char *where = where_of(d, r, node);
    const struct vs_value *held = &d->out.values.at[axis];
    struct vs_value value;
    if (!where || !word)
        return vs_err_nomem(err);
    if (!vs_axis_parse(d->arena, axis, word, where, &value, err))
        return false;
    if (held->text && !vs_streq(held->text, value.text))
        return vs_json_fail(r, node, err, "--%s is %s here and %s above; expected one value",
                            vs_axis_info(axis)->name, value.text, held->text);
    d->out.values.at[axis] = value;
    d->out.values.origin[axis] = VS_FROM_CONFIG;
    return true;
}

/* A whole number; 2e8 is one. */
static bool whole(const struct vs_json_reader *r, const struct vs_json *node, uint64_t *number,
                  struct vs_err *err) {
    static const double MOST = 1e15;
    double n = node->number;
    if (node->kind != VS_JSON_NUMBER || n < 0 || n > MOST || (double)(uint64_t)n != n)
        return vs_json_fail(r, node, err, "found %s, expected a whole number from 0 to 1e15%s",
                            node->kind == VS_JSON_NUMBER   ? "another number"
                            : node->kind == VS_JSON_STRING ? "a string"
                                                           : "no number",
                            node->kind == VS_JSON_STRING ? " without quotes, or \"auto\"" : "");
    *number = (uint64_t)n;
    return true;
}

static bool truth(const struct vs_json_reader *r, const struct vs_json *node, bool *value,
                  struct vs_err *err) {
    if (node->kind != VS_JSON_BOOL)
        return vs_json_fail(r, node, err, "found %s, expected true, false or \"auto\"",
                            node->kind == VS_JSON_STRING ? "a string" : "something else");
    *value = node->boolean;
    return true;
}

/* Objects of a mechanism that is off say so by "enabled", or are not there. */
static bool refuse_unmodelled(const struct key *key, const struct vs_json_reader *r,
                              const struct vs_json *node, struct vs_err *err) {
    bool off = node->kind == VS_JSON_NULL || (node->kind == VS_JSON_BOOL && !node->boolean) ||
               (node->kind == VS_JSON_NUMBER && node->number == key->off);
    if (off)
        return true;
    if (key->off > 0)
        return vs_json_fail(r, node, err, "'%s' is not modelled; expected %g", key->name, key->off);
    return vs_json_fail(r, node, err, "'%s' is not modelled; expected false, or no such key",
                        key->name);
}

static bool take_number(struct reading *d, const struct key *key, const struct vs_json_reader *r,
                        const struct vs_json *node, struct vs_err *err) {
    uint64_t number = 0;
    if (!whole(r, node, &number, err))
        return false;
    if (key->kind == KEY_ELEMENTS)
        return give(d, r, node, key->axis,
                    vs_arena_printf(d->arena, "%" PRIu64 "B", number * d->grad_element), err);
    return give(d, r, node, key->axis, vs_arena_printf(d->arena, "%" PRIu64, number), err);
}

static bool take_place(struct reading *d, const struct key *key, const struct vs_json_reader *r,
                       const struct vs_json *node, struct vs_err *err) {
    const char *word = node->kind == VS_JSON_STRING ? node->string : NULL;
    if (!word || (!vs_streq(word, "none") && !vs_streq(word, "cpu") && !vs_streq(word, "nvme")))
        return vs_json_fail(r, node, err, "found %s%s%s, expected none, cpu or nvme",
                            word ? "'" : "", word ? word : "no string", word ? "'" : "");
    return give(d, r, node, key->axis, word, err);
}

static bool take(struct reading *d, const struct key *key, const struct vs_json_reader *r,
                 const struct vs_json *node, struct vs_err *err) {
    bool on = false;
    if (is_auto(node))
        return true;
    switch (key->kind) {
    case KEY_COUNT:
    case KEY_ELEMENTS:
        return take_number(d, key, r, node, err);
    case KEY_SWITCH:
        return truth(r, node, &on, err) && give(d, r, node, key->axis, on ? "on" : "off", err);
    case KEY_PLACE:
        return take_place(d, key, r, node, err);
    case KEY_OFF:
        return refuse_unmodelled(key, r, node, err);
    case KEY_IGNORED:
    case KEY_OWN:
        break;
    }
    return true;
}

/* All keys of an object but those that have functions of their own; keys outside the table are
 * refused. */
static bool take_all(struct reading *d, struct vs_json_reader *r, const struct key *keys,
                     size_t count, struct vs_err *err) {
    for (size_t i = 0; i < count; i++) {
        const struct vs_json *node = NULL;
        if (!vs_json_get_any(r, keys[i].name, false, &node, err) ||
            (node && !take(d, &keys[i], r, node, err)))
            return false;
    }
    return vs_json_close(r, err);
}
#define TAKE_ALL(d, r, keys, err) take_all(d, r, keys, sizeof(keys) / sizeof *(keys), err)

/* ---- objects ---- */

/* *on stays where nothing, or "auto", is said. */
static bool read_enabled(struct reading *d, struct vs_json_reader *top, const char *name,
                         int *enabled, const struct vs_json **at, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false, on = false;
    if (!vs_json_open_member(top, name, false, &r, &present, err))
        return false;
    if (!present)
        return true;
    const struct vs_json *node = vs_json_member(r.object, "enabled");
    if (node && !is_auto(node)) {
        if (!truth(&r, node, &on, err))
            return false;
        *enabled = on;
        *at = node;
    }
    return TAKE_ALL(d, &r, HALF, err);
}

/* Weights in 16 bit beside an fp32 master copy; where both types are turned off, fp32. */
static bool read_precision(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    int fp16 = -1, bf16 = -1;
    const struct vs_json *at = NULL, *bf16_at = NULL;
    if (!read_enabled(d, top, "fp16", &fp16, &at, err) ||
        !read_enabled(d, top, "bf16", &bf16, &bf16_at, err))
        return false;
    if (fp16 > 0 && bf16 > 0)
        return vs_json_fail(top, vs_json_member(top->object, "bf16"), err,
                            "fp16 and bf16 are both enabled; expected one of them");
    const char *word = fp16 > 0                 ? "mixed-fp16"
                       : bf16 > 0               ? "mixed-bf16"
                       : fp16 == 0 && bf16 == 0 ? "fp32"
                                                : NULL;
    d->grad_element = word && vs_streq(word, "fp32") ? 4 : 2;
    return !word || give(d, top, bf16 > 0 || !at ? bf16_at : at, VS_AXIS_PRECISION, word, err);
}

/* Names in lower case as deepspeed/runtime/config.py compares them, and what they are here. */
static const char *optimizer_word(const char *type, bool momentum) {
    static const struct {
        const char *type, *word;
    } KNOWN[] = {{"adam", "adamw"}, {"adamw", "adamw"}, {"lion", "lion"}, {"muon", "muon"}};
    char lower[16] = "";
    for (size_t i = 0; type[i] && i + 1 < sizeof lower; i++) {
        lower[i] = type[i] >= 'A' && type[i] <= 'Z' ? (char)(type[i] - 'A' + 'a') : type[i];
        lower[i + 1] = '\0';
    }
    if (vs_streq(lower, "sgd"))
        return momentum ? "sgd-momentum" : "sgd";
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (vs_streq(lower, KNOWN[i].type))
            return KNOWN[i].word;
    return NULL;
}

static bool read_optimizer(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    struct vs_json_reader r, params;
    bool present = false, with_params = false;
    const char *type = NULL;
    if (!vs_json_open_member(top, "optimizer", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    if (!vs_json_get_string(&r, "type", true, &type, err) ||
        !vs_json_open_member(&r, "params", false, &params, &with_params, err))
        return false;
    double momentum = 0;
    const struct vs_json *node = with_params ? vs_json_member(params.object, "momentum") : NULL;
    if (node && !is_auto(node) &&
        !vs_json_get_number(&params, "momentum", false, 0, 1, &momentum, err))
        return false;
    if (with_params && !TAKE_ALL(d, &params, OPTIMIZER_PARAMS, err))
        return false;
    const char *word = optimizer_word(type, momentum > 0);
    node = vs_json_member(r.object, "type");
    if (!word)
        return vs_json_fail(&r, node, err,
                            "optimizer '%.40s' is not modelled; expected Adam, AdamW, SGD, Lion or "
                            "Muon",
                            type);
    return give(d, &r, node, VS_AXIS_OPTIM, word, err) && TAKE_ALL(d, &r, OPTIMIZER, err);
}

static bool read_data_types(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;
    const char *word = NULL;
    if (!vs_json_open_member(top, "data_types", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    if (!vs_json_get_string(&r, "grad_accum_dtype", false, &word, err))
        return false;
    if (word && !vs_streq(word, "auto") &&
        !give(d, &r, vs_json_member(r.object, "grad_accum_dtype"), VS_AXIS_GRAD_DTYPE, word, err))
        return false;
    return TAKE_ALL(d, &r, DATA_TYPES, err);
}

static bool read_checkpointing(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false, on = false;
    if (!vs_json_open_member(top, "activation_checkpointing", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    const struct vs_json *node = vs_json_member(r.object, "cpu_checkpointing");
    if (node && !is_auto(node) && !truth(&r, node, &on, err))
        return false;
    return (!on || give(d, &r, node, VS_AXIS_CKPT_OFFLOAD, "cpu", err)) &&
           TAKE_ALL(d, &r, CHECKPOINTING, err);
}

static bool read_offload(struct reading *d, struct vs_json_reader *zero, const char *name,
                         const struct key *keys, size_t count, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;
    if (!vs_json_open_member(zero, name, false, &r, &present, err))
        return false;
    return !present || take_all(d, &r, keys, count, err);
}

/* "cpu_offload": true of old files; MiCS shards within groups (-1: it is off). */
static bool read_old_and_groups(struct reading *d, struct vs_json_reader *zero,
                                struct vs_err *err) {
    const struct vs_json *node = vs_json_member(zero->object, "cpu_offload");
    bool on = false;
    uint64_t group = 0;
    if (node && !is_auto(node) &&
        (!truth(zero, node, &on, err) ||
         (on && !give(d, zero, node, VS_AXIS_OFFLOAD_OPTIM, "cpu", err))))
        return false;
    node = vs_json_member(zero->object, "mics_shard_size");
    if (!node || is_auto(node) || (node->kind == VS_JSON_NUMBER && node->number < 0))
        return true;
    return whole(zero, node, &group, err) &&
           give(d, zero, node, VS_AXIS_ZERO_GROUP, vs_arena_printf(d->arena, "%" PRIu64, group),
                err);
}

/* What the object does not offload stays on the GPU, whatever a workload says. */
static bool stay(struct reading *d, const struct vs_json_reader *r, enum vs_axis axis,
                 struct vs_err *err) {
    struct vs_json node = *r->object;
    node.key = "device";
    return d->out.values.at[axis].text || give(d, r, &node, axis, "none", err);
}

static bool read_zero(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;
    if (!vs_json_open_member(top, "zero_optimization", false, &r, &present, err))
        return false;
    if (!present)
        return true;
    return read_offload(d, &r, "offload_optimizer", OFFLOAD_OPTIM,
                        sizeof OFFLOAD_OPTIM / sizeof *OFFLOAD_OPTIM, err) &&
           read_offload(d, &r, "offload_param", OFFLOAD_PARAM,
                        sizeof OFFLOAD_PARAM / sizeof *OFFLOAD_PARAM, err) &&
           read_old_and_groups(d, &r, err) && stay(d, &r, VS_AXIS_OFFLOAD_OPTIM, err) &&
           stay(d, &r, VS_AXIS_OFFLOAD_PARAM, err) && TAKE_ALL(d, &r, ZERO, err);
}

static bool read_batch(struct reading *d, struct vs_json_reader *top, struct vs_err *err) {
    const struct vs_json *node = vs_json_member(top->object, "train_batch_size");
    if (!node || is_auto(node))
        return true;
    if (!whole(top, node, &d->out.train_batch, err))
        return false;
    if (d->out.train_batch == 0)
        return vs_json_fail(top, node, err, "found 0, expected at least 1");
    d->out.train_batch_where = where_of(d, top, node);
    return d->out.train_batch_where ? true : vs_err_nomem(err);
}

bool vs_deepspeed_read(struct vs_arena *arena, const char *path, struct vs_deepspeed *config,
                       struct vs_err *err) {
    struct reading d = {.arena = arena, .grad_element = 2};
    struct vs_json_reader top;
    const struct vs_json *root = NULL;
    if (!vs_json_load(arena, path, &root, err) || !vs_json_open(&top, path, "$", root, err) ||
        !read_precision(&d, &top, err) || !read_optimizer(&d, &top, err) ||
        !read_data_types(&d, &top, err) || !read_checkpointing(&d, &top, err) ||
        !read_zero(&d, &top, err) || !read_batch(&d, &top, err) || !TAKE_ALL(&d, &top, TOP, err))
        return false;
    *config = d.out;
    return true;
}
