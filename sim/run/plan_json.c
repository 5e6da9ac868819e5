#include "run/plan_json.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "plan/generate.h"
#include "plan/pipeline.h"
#include "plan/startup.h"
#include "run/point.h"
#include "strategy/strategy.h"

/* "gpu1", "host" into `out`. */
static const char *home_name(unsigned home, char out[16]) {
    static const char *const NAMES[] = {
        [VS_HOME_HOST] = "host", [VS_HOME_PINNED] = "pinned", [VS_HOME_STORAGE] = "storage"};
    if (vs_on_gpu(home))
        snprintf(out, 16, "gpu%u", home - VS_HOME_GPU);
    else
        snprintf(out, 16, "%s", NAMES[home]);
    return out;
}

static const char *const VERBS[] = {
    [VS_MEM_TAKE] = "take",
    [VS_MEM_GIVE] = "give",
    [VS_MEM_RETIRE] = "retire",
    [VS_MEM_TOUCH] = "touch",
    [VS_MEM_DRAW] = "draw",
    [VS_MEM_ENSURE] = "ensure",
    [VS_MEM_ACCUMULATE] = "accumulate",
};

struct writing {
    struct vs_json_writer w;
    struct vs_plan plan;
    struct vs_executor x; /* for its pools and rates; nothing runs */
    struct vs_phase phase;
};

static void put_string(struct vs_json_writer *w, const char *key, const char *value) {
    vs_json_member_string(w, key, value);
}

static void put_number(struct vs_json_writer *w, const char *key, double value) {
    vs_json_member_number(w, key, value);
}

static void put_u64(struct vs_json_writer *w, const char *key, uint64_t value) {
    vs_json_member_u64(w, key, value);
}

static void put_bool(struct vs_json_writer *w, const char *key, bool value) {
    vs_json_member_boolean(w, key, value);
}

static void put_buffer_id(struct vs_json_writer *w, const char *key, vs_buffer_id id) {
    vs_json_key(w, key);
    if (id == VS_NO_BUFFER)
        vs_json_null(w);
    else
        vs_json_u64(w, id);
}

static void put_layer(struct vs_json_writer *w, int32_t layer) {
    vs_json_key(w, "layer");
    if (layer < 0)
        vs_json_null(w);
    else
        vs_json_u64(w, (uint64_t)layer);
}

static bool put_case(struct vs_json_writer *w, struct vs_arena *arena, const struct vs_case *c,
                     struct vs_err *err) {
    struct vs_outcome names = {0};
    if (!vs_point_describe(arena, c, &names, err))
        return false;
    vs_json_key(w, "case");
    vs_json_object(w);
    put_string(w, "hw", names.hw);
    put_string(w, "machine", names.machine);
    put_string(w, "model", names.model);
    put_string(w, "engine", names.engine);
    put_string(w, "engine_version", names.engine_version);
    put_string(w, "task", names.task);
    vs_json_key(w, "strategy");
    vs_json_object(w);
    for (size_t i = 0; i < names.strategy_count; i++)
        put_string(w, names.strategy[i].axis, names.strategy[i].word);
    vs_json_end(w, '}');
    vs_json_end(w, '}');
    return true;
}

/* Homes that share a pool stand with it once. */
static void put_pools(struct vs_json_writer *w, const struct vs_executor *x) {
    vs_json_key(w, "pools");
    vs_json_array(w);
    for (size_t i = 0; i < VS_HOME_COUNT; i++) {
        size_t first = 0;
        char name[16];
        while (x->pools[first] != x->pools[i])
            first++;
        if (first < i || !x->pools[i])
            continue;
        vs_json_object(w);
        put_string(w, "name", vs_pool_name(x->pools[i]));
        vs_json_key(w, "capacity_bytes");
        if (vs_pool_capacity(x->pools[i]) == UINT64_MAX)
            vs_json_null(w);
        else
            vs_json_u64(w, vs_pool_capacity(x->pools[i]));
        vs_json_key(w, "homes");
        vs_json_array(w);
        for (size_t home = i; home < VS_HOME_COUNT; home++)
            if (x->pools[home] == x->pools[i])
                vs_json_string(w, home_name((unsigned)home, name));
        vs_json_end(w, ']');
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
}

static void put_resources(struct vs_json_writer *w, const struct vs_executor *x) {
    vs_json_key(w, "resources");
    vs_json_array(w);
    for (size_t i = 0; i < x->unit_count * VS_PART_COUNT; i++) {
        enum vs_part part = (enum vs_part)(i % VS_PART_COUNT);
        unsigned device = (unsigned)(i / VS_PART_COUNT);
        char name[VS_PART_NAME_SIZE];
        bool flops = part == VS_PART_COMPUTE || part == VS_PART_HOST_COMPUTE;
        if (device > 0 && vs_part_is_host(part))
            continue;
        vs_part_name(part, device, name);
        vs_json_object(w);
        put_string(w, "name", name);
        put_number(w, "capacity", x->units[device].rates.capacity[part]);
        put_string(w, "unit", flops ? "FLOP/s" : "B/s");
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
    put_number(w, "launch_s", x->units[0].rates.launch_s);
    put_number(w, "queue_depth", x->units[0].rates.queue_depth);
}

static void put_tensors(struct vs_json_writer *w, const struct vs_plan *plan) {
    vs_json_key(w, "tensors");
    vs_json_array(w);
    for (size_t i = 0; i < plan->weight_count; i++) {
        const struct vs_weight *weight = &plan->weights[i];
        char home[16];
        vs_json_object(w);
        put_string(w, "name", weight->tensor->name);
        put_string(w, "type", weight->type->name);
        put_u64(w, "bytes", weight->bytes);
        put_string(w, "home", home_name(weight->home, home));
        put_bool(w, "trainable", weight->trainable);
        put_u64(w, "adapter_rank", weight->adapter_rank);
        put_buffer_id(w, "buffer", weight->buffer);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
}

static void put_buffers(struct vs_json_writer *w, const struct vs_plan *plan) {
    vs_json_key(w, "buffers");
    vs_json_array(w);
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const struct vs_buffer *b = &plan->buffers.at[i];
        char home[16];
        vs_json_object(w);
        put_string(w, "what", b->what);
        put_layer(w, b->layer);
        put_string(w, "home", home_name(b->home, home));
        put_string(w, "tag", vs_tag_name((enum vs_tag)b->tag));
        put_u64(w, "bytes", b->bytes);
        put_u64(w, "stream", b->stream);
        put_bool(w, "raw", b->raw);
        put_bool(w, "managed", b->managed);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
}

/* ---- phases ---- */

static void put_memory(struct vs_json_writer *w, const char *key, const struct vs_mem_action *at,
                       size_t count) {
    vs_json_key(w, key);
    vs_json_array(w);
    for (size_t i = 0; i < count; i++) {
        vs_json_object(w);
        put_string(w, "verb", VERBS[at[i].verb]);
        put_u64(w, "buffer", at[i].buffer);
        vs_json_end(w, '}');
    }
    vs_json_end(w, ']');
}

static void put_needs(struct vs_json_writer *w, const struct vs_cost *cost, unsigned device) {
    char name[VS_PART_NAME_SIZE];
    put_number(w, "latency_s", cost->latency_s);
    vs_json_key(w, "needs");
    vs_json_object(w);
    for (size_t i = 0; i < cost->need_count; i++) {
        vs_part_name(cost->needs[i].part, device, name);
        put_number(w, name, cost->needs[i].amount);
    }
    vs_json_end(w, '}');
}

static void put_operation(struct writing *s, const struct vs_op *op) {
    struct vs_json_writer *w = &s->w;
    const struct vs_phase *phase = &s->phase;
    struct vs_cost cost = vs_cost(&s->x.units[op->device].rates, op);
    vs_json_object(w);
    put_string(w, "kind", vs_work_name(op->kind));
    put_string(w, "lane", vs_lane_name(s->plan.arena, &s->x.units[op->device], op->lane));
    put_string(w, "what", op->what);
    put_layer(w, op->layer);
    put_string(w, "type", op->type ? op->type->name : NULL);
    put_number(w, "weight_bits", op->type ? op->type->bits : 16);
    put_bool(w, "fp32", op->fp32);
    put_bool(w, "fp8", op->fp8);
    put_bool(w, "fp4", op->fp4);
    put_bool(w, "pinned", op->pinned);
    put_number(w, "flops", op->flops);
    put_number(w, "bytes", op->bytes);
    put_number(w, "kernels", op->kernels);
    put_number(w, "launches", op->launches);
    put_number(w, "cost_s", op->cost_s);
    put_needs(w, &cost, op->device);
    vs_json_key(w, "after");
    vs_json_array(w);
    for (uint32_t i = 0; i < op->dep_count; i++)
        vs_json_u64(w, phase->deps.at[op->first_dep + i]);
    vs_json_end(w, ']');
    put_memory(w, "memory", phase->mem.at + op->first_mem, op->mem_count);
    vs_json_end(w, '}');
}

/* How often a phase runs, the tokens that enter it, and whether it is timed here: phases of a
 * pipeline run side by side, which one alone can't tell. */
struct stands {
    uint64_t count, tokens;
    bool once;  /* in the life of the process; others come again with each step or request */
    bool alone; /* nothing else runs beside it */
};

/* NaN where the phase isn't timed. */
static bool predict(struct writing *s, bool alone, double *seconds, struct vs_err *err) {
    *seconds = (double)NAN;
    return !alone || (vs_walk(&s->x, &s->phase, false, err) &&
                      vs_time_phase(&s->x, &s->phase, VS_NO_OP, 0, seconds, err));
}

static bool put_phase(struct writing *s, struct stands stands, struct vs_err *err) {
    struct vs_json_writer *w = &s->w;
    const struct vs_phase *phase = &s->phase;
    size_t done = 0;
    double seconds;
    if (!predict(s, stands.alone, &seconds, err))
        return false;
    vs_json_object(w);
    put_string(w, "name", phase->name);
    put_u64(w, "count", stands.count);
    put_u64(w, "tokens", stands.tokens);
    put_bool(w, "once", stands.once);
    put_number(w, "predicted_s", seconds);
    vs_json_key(w, "operations");
    vs_json_array(w);
    for (size_t i = 0; i < phase->ops.count; i++) {
        put_operation(s, &phase->ops.at[i]);
        done = phase->ops.at[i].first_mem + phase->ops.at[i].mem_count;
    }
    vs_json_end(w, ']');
    put_memory(w, "memory_at_end", phase->mem.at + done, phase->mem.count - done);
    vs_json_end(w, '}');
    return true;
}

static const struct stands START = {.count = 1, .once = true, .alone = true};

static bool put_load(struct writing *s, struct vs_err *err) {
    struct vs_load_needs needs = vs_load_needs_of(s->plan.c);
    return vs_emit_load(&s->plan, &needs, &s->phase, err) && put_phase(s, START, err);
}

/* Forward and backward of each chunk of a pipeline. */
static bool put_chunks(struct writing *s, struct stands stands, struct vs_err *err) {
    const struct vs_parallel *p = &s->plan.parallel;
    bool ok = true;
    for (uint32_t n = 0; ok && n < p->stages * p->chunks; n++) {
        struct vs_chunk chunk = {0};
        const struct vs_phase own = s->phase;
        ok = vs_emit_chunk(&s->plan, n, &chunk, err);
        s->phase = chunk.forward;
        ok = ok && put_phase(s, stands, err);
        s->phase = chunk.backward;
        ok = ok && put_phase(s, stands, err);
        s->phase = own;
        vs_chunk_release(&chunk);
    }
    return ok;
}

static bool put_train(struct writing *s, struct vs_err *err) {
    const struct vs_values *axes = &s->plan.c->axes;
    struct stands micro = {
        .count = (uint64_t)vs_count(axes, VS_AXIS_ACCUM),
        .tokens = (uint64_t)(vs_count(axes, VS_AXIS_MICRO_BATCH) * vs_count(axes, VS_AXIS_SEQ)),
        .alone = true};
    const struct stands update = {.count = 1, .alone = true};
    if (vs_is_pipelined(&s->plan.parallel)) {
        micro.alone = false;
        if (!put_chunks(s, micro, err))
            return false;
    } else if (!vs_emit_micro_step(&s->plan, &s->phase, err) || !put_phase(s, micro, err)) {
        return false;
    }
    return vs_emit_optimizer_step(&s->plan, &s->phase, err) && put_phase(s, update, err);
}

static bool put_decode(struct writing *s, uint64_t past, struct stands step, struct vs_err *err) {
    return vs_emit_decode(&s->plan, past, &s->phase, err) && put_phase(s, step, err);
}

/* The start of an engine with a paged cache. What its pool takes is measured on a device; here it
 * is what the sequences need. */
static bool put_start(struct writing *s, struct vs_err *err) {
    uint64_t blocks = s->plan.sequences * vs_kv_sequence_blocks(&s->plan);
    return vs_emit_profile(&s->plan, &s->phase, err) && put_phase(s, START, err) &&
           vs_emit_kv_pool(&s->plan, blocks, 1, &s->phase, err) && put_phase(s, START, err);
}

/* The prompt, and the first and the last token behind it. */
static bool put_generate(struct writing *s, struct vs_err *err) {
    const struct vs_values *axes = &s->plan.c->axes;
    uint64_t prompt = (uint64_t)vs_count(axes, VS_AXIS_PROMPT);
    uint64_t gen = (uint64_t)vs_count(axes, VS_AXIS_GEN);
    uint64_t batch = (uint64_t)vs_count(axes, VS_AXIS_BATCH);
    uint64_t depth = (uint64_t)vs_count(axes, VS_AXIS_DEPTH), start = depth + prompt;
    const struct stands whole = {.count = 1, .tokens = batch * prompt, .alone = true};
    const struct stands step = {.count = 1, .tokens = batch, .alone = true};
    if (s->plan.kv_block > 0 && !put_start(s, err))
        return false;
    if (s->plan.c->task == VS_TASK_SERVE)
        return true;
    if (!vs_emit_provision(&s->plan, &s->phase, err) || !put_phase(s, START, err))
        return false;
    if (prompt > 0 &&
        (!vs_emit_prefill(&s->plan, prompt, depth, &s->phase, err) || !put_phase(s, whole, err)))
        return false;
    if (gen > 0 && !put_decode(s, start, step, err))
        return false;
    return gen < 2 || put_decode(s, start + gen - 1, step, err);
}

/* Buffers come last: the phases make some. */
static bool put_plan(struct writing *s, struct vs_arena *arena, struct vs_err *err) {
    struct vs_json_writer *w = &s->w;
    vs_json_object(w);
    put_string(w, "schema", "vramsim-plan/1");
    if (!put_case(w, arena, s->plan.c, err) || !vs_plan_buffers(&s->plan, err))
        return false;
    put_pools(w, &s->x);
    put_resources(w, &s->x);
    put_tensors(w, &s->plan);
    vs_json_key(w, "phases");
    vs_json_array(w);
    if (!put_load(s, err) ||
        !(s->plan.c->task == VS_TASK_TRAIN ? put_train(s, err) : put_generate(s, err)))
        return false;
    vs_json_end(w, ']');
    put_buffers(w, &s->plan);
    vs_json_end(w, '}');
    vs_text_add(w->out, "\n");
    return true;
}

bool vs_plan_json(struct vs_arena *arena, const struct vs_case *c, struct vs_text *out,
                  struct vs_err *err) {
    struct writing s = {.phase = {0}};
    vs_json_begin(&s.w, out);
    bool ok = vs_plan_init(&s.plan, arena, c, err) && vs_strategies_apply(&s.plan, err) &&
              vs_executor_init(&s.x, &s.plan, err);
    if (ok) {
        ok = put_plan(&s, arena, err);
        vs_executor_release(&s.x);
    }
    vs_phase_release(&s.phase);
    vs_plan_release(&s.plan);
    return ok && (!out->failed || vs_err_nomem(err));
}
