#include "plan/plan.h"

#include <string.h>

#include "engine/engine.h"
#include "hw/machine.h"

void vs_phase_release(struct vs_phase *phase) {
    vs_vec_release(&phase->ops);
    vs_vec_release(&phase->mem);
    vs_vec_release(&phase->deps);
}

void vs_phase_clear(struct vs_phase *phase, const char *name) {
    phase->name = name;
    phase->ops.count = phase->mem.count = phase->deps.count = 0;
}

/* The type that a rule of the engine names; `fallback` where it has no such rule, NULL = none. */
static bool rule_type(const struct vs_engine *engine, const char *rule, const char *fallback,
                      const struct vs_type **type, struct vs_err *err) {
    const char *word = vs_engine_rule(engine, rule, fallback);
    *type = word ? vs_type_find(word) : NULL;
    return *type || !word ||
           vs_err_at(err, engine->file, 0, 0, "rule '%s': found '%.40s', expected a type", rule,
                     word);
}

/* The type of tensors that a format leaves alone. The engine's rule "rest" says what its own files
 * have there, beside MXFP4. */
static const struct vs_type *rest_type(const struct vs_case *c, const struct vs_format *format,
                                       const struct vs_type *own) {
    if (format->kind == VS_FORMAT_PLAIN)
        return format->base;
    if (own && format->kind == VS_FORMAT_MX)
        return own;
    if (vs_is(&c->axes, VS_AXIS_PRECISION, "fp32"))
        return vs_type_find("fp32");
    bool half = vs_is(&c->axes, VS_AXIS_PRECISION, "mixed-fp16") || c->task != VS_TASK_TRAIN;
    return vs_type_find(half ? "fp16" : "bf16");
}

static void count_layers(struct vs_plan *plan) {
    for (size_t i = 0; i < plan->weight_count; i++) {
        int32_t layer = plan->weights[i].tensor->layer;
        if (layer < 0)
            continue;
        struct vs_layer *l = &plan->layers[layer];
        if (l->weight_count++ == 0)
            l->first_weight = (uint32_t)i;
    }
}

bool vs_plan_init(struct vs_plan *plan, struct vs_arena *arena, const struct vs_case *c,
                  struct vs_err *err) {
    const struct vs_model *model = c->model;
    memset(plan, 0, sizeof *plan);
    plan->c = c;
    plan->ranks = plan->shard_ranks = 1;
    plan->parallel = (struct vs_parallel){1, 1, 1, 1, 1, false, false, false};
    plan->reduce_bucket = VS_NO_BUFFER;
    plan->arena = arena;
    plan->pinned = !vs_is(&c->axes, VS_AXIS_PIN_MEMORY, "off");
    const struct vs_type *own_rest;
    if (!vs_format_parse(c->axes.at[VS_AXIS_WEIGHTS].text, &plan->format, err) ||
        !rule_type(c->engine, "rest", NULL, &own_rest, err) ||
        !rule_type(c->engine, "state", "fp32", &plan->state_type, err))
        return false;
    plan->rest = rest_type(c, &plan->format, own_rest);
    plan->weight_count = model->tensor_count;
    plan->weights = VS_NEW_ARRAY(arena, struct vs_weight, model->tensor_count);
    plan->layers = VS_NEW_ARRAY(arena, struct vs_layer, model->layers);
    if (!plan->weights || !plan->layers)
        return vs_err_nomem(err);
    for (size_t i = 0; i < plan->weight_count; i++) {
        struct vs_weight *w = &plan->weights[i];
        w->tensor = &model->tensors[i];
        w->type = plan->rest;
        w->home = VS_HOME_GPU;
        w->parts = 1;
        w->bytes = w->file_bytes =
            vs_type_bytes(plan->rest, w->tensor->rows, w->tensor->cols) * w->tensor->count;
        w->buffer = w->grad = w->master = w->adapter = w->adapter_grad = w->original = VS_NO_BUFFER;
    }
    for (uint32_t l = 0; l < model->layers; l++) {
        plan->layers[l].home = VS_HOME_GPU;
        plan->layers[l].pages = plan->layers[l].expert_pages = VS_NO_BUFFER;
    }
    count_layers(plan);
    return true;
}

void vs_plan_release(struct vs_plan *plan) {
    vs_vec_release(&plan->buffers);
    vs_vec_release(&plan->trained);
}

vs_buffer_id vs_plan_buffer(struct vs_plan *plan, const struct vs_buffer *buffer) {
    if (plan->buffers.count >= VS_NO_BUFFER || !vs_vec_push(&plan->buffers, *buffer))
        return VS_NO_BUFFER;
    return (vs_buffer_id)(plan->buffers.count - 1);
}

uint64_t vs_weight_adapter_params(const struct vs_weight *w) {
    return w->adapter_rank * vs_weight_sides(w);
}

uint32_t vs_train_stages(const struct vs_machine *m, const struct vs_values *axes) {
    int64_t stages = vs_count(axes, VS_AXIS_PP);
    if (vs_is(axes, VS_AXIS_SPLIT, "layer"))
        stages = (int64_t)m->device_count;
    return stages > 1 ? (uint32_t)stages : 1;
}

uint32_t vs_train_copies(const struct vs_machine *m, const struct vs_values *axes) {
    int64_t tensor = vs_count(axes, VS_AXIS_TP), context = vs_count(axes, VS_AXIS_CP);
    uint64_t devices = (uint64_t)(tensor > 1 ? tensor : 1) * (uint64_t)(context > 1 ? context : 1) *
                       vs_train_stages(m, axes);
    return m->device_count > devices ? (uint32_t)(m->device_count / devices) : 1;
}

double vs_node_ranks(const struct vs_case *c) {
    double ranks = (double)vs_count(&c->axes, VS_AXIS_TP), node = vs_node_devices(c);
    if (c->task == VS_TASK_TRAIN)
        ranks = (double)c->machine->device_count / vs_train_stages(c->machine, &c->axes);
    ranks = ranks > 1 ? ranks : 1;
    return ranks < node ? ranks : node;
}

double vs_node_devices(const struct vs_case *c) {
    bool network =
        c->task == VS_TASK_TRAIN || vs_streq(vs_engine_rule(c->engine, "multi_node", "on"), "on");
    size_t devices = network ? c->machine->node_devices : c->machine->device_count;
    return devices > 0 ? (double)devices : 1;
}

bool vs_maps_devices(const struct vs_case *c) {
    return c->task == VS_TASK_GENERATE && c->machine->device_count > 0 && !c->machine->unified &&
           vs_streq(vs_engine_rule(c->engine, "placement", "layers"), "device_map");
}

bool vs_plan_maps_weights(const struct vs_case *c) {
    return vs_is(&c->axes, VS_AXIS_OFFLOAD, "disk") &&
           vs_streq(vs_engine_rule(c->engine, "offload_disk", "streamed"), "mapped");
}

uint64_t vs_plan_cpu_threads(const struct vs_case *c) {
    const struct vs_host *h = c->machine->host;
    uint64_t cores = (uint64_t)h->cores.value, threads = cores;
    uint64_t asked = (uint64_t)vs_count(&c->axes, VS_AXIS_CPU_THREADS);
    if (vs_streq(vs_engine_rule(c->engine, "cpu_threads", "all"), "large_cores") &&
        vs_host_large_cores(h) >= 1)
        threads = (uint64_t)vs_host_large_cores(h);
    if (asked > 0)
        threads = asked < cores ? asked : cores;
    return threads > 0 ? threads : 1;
}

size_t vs_plan_head(const struct vs_plan *plan) {
    size_t head = 0;
    for (size_t i = 0; i < plan->weight_count; i++) {
        enum vs_role role = plan->weights[i].tensor->role;
        if (role == VS_ROLE_HEAD || (role == VS_ROLE_EMBED && plan->c->model->tied_embeddings))
            head = i;
    }
    return head;
}

uint32_t vs_plan_parts(const struct vs_plan *plan) {
    return plan->tensor_parallel && !plan->attention_dp ? plan->ranks : 1;
}

uint32_t vs_plan_expert_parts(const struct vs_plan *plan) {
    return plan->tensor_parallel ? plan->ranks : 1;
}

uint32_t vs_plan_groups(const struct vs_plan *plan) { return plan->attention_dp ? plan->ranks : 1; }

uint64_t vs_part_bytes(uint64_t bytes, uint32_t parts) { return (bytes + parts - 1) / parts; }

/* A bound of 0 is none; layers without a window have none. */
static uint64_t bounded(const struct vs_plan *plan, uint32_t layer, uint64_t cells, uint64_t most) {
    bool bound = most > 0 && vs_layer_window(plan->c->model, layer) > 0;
    return bound && most < cells ? most : cells;
}

uint64_t vs_plan_kv_kept(const struct vs_plan *plan, uint32_t layer, uint64_t cells) {
    return bounded(plan, layer, cells, plan->window.kept);
}

uint64_t vs_plan_kv_read(const struct vs_plan *plan, uint32_t layer, uint64_t cells) {
    return bounded(plan, layer, cells, plan->window.read);
}

/* The first tokens may have fewer cells before them than the window. */
double vs_plan_kv_reach(const struct vs_plan *plan, uint32_t layer, uint64_t past, uint64_t cells) {
    double first = (double)past, last = (double)cells;
    double most = (double)bounded(plan, layer, cells, plan->window.span);
    if (first >= most)
        return most;
    return ((most - first) * (first + most) / 2 + (last - most) * most) / (last - first);
}

uint64_t vs_plan_kv_whole_bytes(const struct vs_plan *plan, uint32_t layer, uint64_t cells) {
    const struct vs_model *m = plan->c->model;
    cells = vs_plan_kv_kept(plan, layer, cells);
    if (m->layer[layer].mixer == VS_MIXER_LATENT && plan->latent == VS_LATENT_EXPANDED)
        return vs_kv_expanded_layer_bytes(m, layer, cells, plan->kv_k, plan->kv_v);
    uint64_t bytes = vs_kv_layer_bytes(m, layer, cells, plan->kv_k, plan->kv_v);
    if (m->layer[layer].mixer == VS_MIXER_LATENT && plan->latent == VS_LATENT_TRANSPOSED)
        bytes += cells * vs_type_bytes(plan->kv_v, 1, m->mla_kv_rank);
    return bytes;
}

uint64_t vs_plan_state_layer_bytes(const struct vs_plan *plan, uint32_t layer) {
    const struct vs_type *type = plan->state_type;
    return vs_part_bytes(vs_state_layer_bytes(plan->c->model, layer, type, type),
                         vs_plan_parts(plan));
}

enum { UNPACKED_FROM_TOKENS = 128 /* ik_llama.cpp: build_deepseek2, pp_opt */ };

bool vs_plan_unpacks(const struct vs_plan *plan, uint64_t tokens) {
    return plan->latent_unpacked && tokens >= UNPACKED_FROM_TOKENS;
}

bool vs_plan_takes_over(const struct vs_plan *plan, uint64_t tokens, bool experts) {
    const struct vs_machine *m = plan->c->machine;
    uint64_t from = experts ? plan->offload_expert_tokens : plan->offload_tokens;
    return m->device_count > 0 && !m->unified && !plan->streaming && from > 0 && tokens >= from;
}

uint64_t vs_plan_kv_bytes(const struct vs_plan *plan, uint32_t layer, uint64_t cells) {
    const struct vs_model *m = plan->c->model;
    const struct vs_model_layer *l = &m->layer[layer];
    uint64_t bytes = vs_plan_kv_whole_bytes(plan, layer, cells);
    uint32_t parts = vs_plan_parts(plan);
    if (l->mixer == VS_MIXER_LATENT || parts == 1 || l->kv_heads == 0)
        return bytes;
    return vs_part_bytes(bytes, parts < l->kv_heads ? parts : l->kv_heads);
}

uint64_t vs_shard(const struct vs_plan *plan, bool sharded, uint64_t bytes) {
    return sharded ? (bytes + plan->shard_ranks - 1) / plan->shard_ranks : bytes;
}

bool vs_has_replicas(const struct vs_plan *plan) { return plan->shard_ranks < plan->ranks; }

struct vs_ring vs_shard_ring(const struct vs_plan *plan) {
    return (struct vs_ring){plan->shard_ranks, plan->parallel.tensor};
}

struct vs_ring vs_replica_ring(const struct vs_plan *plan) {
    return (struct vs_ring){plan->ranks / plan->shard_ranks,
                            plan->parallel.tensor * plan->shard_ranks};
}

struct vs_ring vs_data_ring(const struct vs_plan *plan) {
    return (struct vs_ring){plan->ranks, plan->parallel.tensor};
}

struct vs_ring vs_tensor_ring(const struct vs_plan *plan) {
    return (struct vs_ring){plan->parallel.tensor, 1};
}

unsigned vs_devices_written(const struct vs_plan *plan) {
    size_t devices = plan->c->machine->device_count;
    if (plan->c->task == VS_TASK_TRAIN)
        return plan->parallel.stages;
    return plan->ranks > 1 || devices == 0 ? 1 : (unsigned)devices;
}

uint32_t vs_weight_ranks(const struct vs_plan *plan, const struct vs_weight *w) {
    uint32_t parts = plan->parallel.experts;
    if (parts == 1 || !vs_is_expert(w))
        return plan->shard_ranks;
    uint32_t ranks = plan->shard_ranks * plan->parallel.tensor / parts;
    return ranks > 0 ? ranks : 1;
}

uint64_t vs_weight_shard(const struct vs_plan *plan, const struct vs_weight *w, bool sharded,
                         uint64_t bytes) {
    return sharded ? vs_part_bytes(bytes, vs_weight_ranks(plan, w)) : bytes;
}

uint64_t vs_weight_stored(const struct vs_plan *plan, const struct vs_weight *w) {
    return vs_weight_shard(plan, w, plan->shard.weights && !w->persists, w->bytes);
}

/* Matrices that end a branch are dealt out by their inputs, so that their outputs are parts of a
 * sum. */
static bool is_split_by_input(enum vs_role role) {
    return role == VS_ROLE_O || role == VS_ROLE_DOWN || role == VS_ROLE_SHARED_DOWN;
}

uint64_t vs_weight_rows(const struct vs_weight *w) {
    bool whole = vs_is_expert(w) || is_split_by_input(w->tensor->role);
    return whole ? w->tensor->rows : vs_part_bytes(w->tensor->rows, w->parts);
}

uint64_t vs_weight_cols(const struct vs_weight *w) {
    return is_split_by_input(w->tensor->role) ? vs_part_bytes(w->tensor->cols, w->parts)
                                              : w->tensor->cols;
}

uint64_t vs_weight_sides(const struct vs_weight *w) {
    uint64_t sides = (vs_weight_rows(w) + vs_weight_cols(w)) * w->tensor->count;
    return vs_is_expert(w) ? sides / w->parts : sides;
}

uint64_t vs_weight_params(const struct vs_weight *w) {
    return vs_part_bytes(vs_tensor_params(w->tensor), w->parts);
}

const char *vs_work_name(enum vs_work_kind kind) {
    static const char *const NAMES[VS_WORK_KIND_COUNT] = {
        [VS_WORK_NOTHING] = "nothing",
        [VS_WORK_GEMM] = "gemm",
        [VS_WORK_GEMV] = "gemv",
        [VS_WORK_ATTENTION] = "attention",
        [VS_WORK_NAIVE_ATTENTION] = "naive_attention",
        [VS_WORK_KV_READ] = "kv_read",
        [VS_WORK_KV_READ_NAIVE] = "kv_read_naive",
        [VS_WORK_ELEMENT] = "element",
        [VS_WORK_ADAPTER] = "adapter",
        [VS_WORK_DEQUANT] = "dequant",
        [VS_WORK_FIXED] = "fixed",
        [VS_WORK_OPTIMIZER] = "optimizer",
        [VS_WORK_COPY] = "copy",
        [VS_WORK_HOP] = "hop",
        [VS_WORK_GATHER] = "gather",
        [VS_WORK_ALL_REDUCE] = "all_reduce",
        [VS_WORK_CPU_GEMV] = "cpu_gemv",
        [VS_WORK_CPU_GEMM] = "cpu_gemm",
        [VS_WORK_CPU_ATTENTION] = "cpu_attention",
        [VS_WORK_CPU_OPTIMIZER] = "cpu_optimizer",
        [VS_WORK_STORAGE_READ] = "storage_read",
        [VS_WORK_STORAGE_WRITE] = "storage_write",
        [VS_WORK_SYNC] = "sync",
        [VS_WORK_ALL_TO_ALL] = "all_to_all",
        [VS_WORK_SEND] = "send",
    };
    return NAMES[kind];
}
