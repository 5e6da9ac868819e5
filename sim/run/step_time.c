/* The grid. Decodes, prompt tokens and prompts: whole numbers up to 16, for kernels change there,
 * then eight to an octave, for matrices have a bend between reading and computing; the time between
 * is bilinear. Cells, reach, prompts and tokens of other groups: one line each from the lower node
 * to the next, for a step's time is linear in them but where windows end, which are powers of two,
 * where the device catches up with the host that launches, and where experts bend: tokens of others
 * have eight nodes to an octave too. A test holds the error of all this below 0.2 %. */
#include "run/step_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/engine.h"

enum { DECODES, CELLS, TOKENS, REACH, PROMPTS, OTHERS };

/* Copies are nodes too: what stands for decodes says so, what stands for cells counts blocks. */
enum { OCTAVE_PARTS = 8 };

static const uint32_t TO_HOST = UINT32_MAX - 1, FROM_HOST = UINT32_MAX;

void vs_step_times_release(struct vs_step_times *times) {
    vs_vec_release(&times->nodes);
    vs_vec_release(&times->uses);
    free(times->table);
    times->table = NULL;
    times->slots = 0;
}

static size_t slot_of(const struct vs_step_times *times, const uint32_t at[VS_STEP_DIMS]) {
    uint64_t hash = 0;
    for (int i = 0; i < VS_STEP_DIMS; i++)
        hash = vs_hash_pair(hash, at[i]);
    size_t slot = (size_t)hash & (times->slots - 1);
    while (times->table[slot] != 0 &&
           memcmp(times->nodes.at[times->table[slot] - 1].at, at, sizeof times->nodes.at->at) != 0)
        slot = (slot + 1) & (times->slots - 1);
    return slot;
}

static bool is_copy(const struct vs_step_node *node) { return node->at[DECODES] >= TO_HOST; }

/* At most half full. */
static bool widen(struct vs_step_times *times, struct vs_err *err) {
    if (times->slots > 2 * times->nodes.count)
        return true;
    size_t slots = times->slots > 0 ? 2 * times->slots : 256;
    uint32_t *table = calloc(slots, sizeof *table);
    if (!table)
        return vs_err_nomem(err);
    free(times->table);
    times->table = table;
    times->slots = slots;
    for (size_t i = 0; i < times->nodes.count; i++)
        table[slot_of(times, times->nodes.at[i].at)] = (uint32_t)i + 1;
    return true;
}

/* Runs the phase of a node over the first `layers` of them, and reads what it used of the machine.
 */
static bool run_phase(struct vs_step_times *times, const struct vs_step_node *node, uint32_t layers,
                      double *seconds, double *uses, struct vs_err *err) {
    const uint32_t *at = node->at;
    struct vs_executor *x = &times->s->x;
    const struct vs_serve_step step = {.decodes = at[DECODES],
                                       .cells = at[CELLS],
                                       .prompt_tokens = at[TOKENS],
                                       .reach = at[REACH],
                                       .prompts = at[PROMPTS],
                                       .other_tokens = at[OTHERS],
                                       .layers = layers};
    vs_forget_walk(x);
    vs_clear_sums(x);
    if (!(is_copy(node) ? vs_emit_kv_copy(&times->s->plan, at[CELLS], at[DECODES] == TO_HOST,
                                          times->phase, err)
                        : vs_emit_step(&times->s->plan, &step, times->phase, err)) ||
        !vs_time_phase(x, times->phase, VS_NO_OP, 1, seconds, err))
        return false;
    vs_sums_read(x, uses);
    return true;
}

/* Two turns of layers that repeat and three of them: what the third one adds, all that follow add.
 */
enum { TURNS = 2 };

static uint32_t few_layers(struct vs_step_times *times) {
    uint32_t all = times->s->c->model->layers;
    if (!times->looked) {
        times->repeat = vs_plan_repeat(&times->s->plan);
        times->looked = true;
    }
    struct vs_repeat r = times->repeat;
    bool turns = r.period > 0 && all >= r.from + (TURNS + 2) * r.period;
    if (!turns || times->s->plan.streaming) /* copies run ahead over several layers */
        return 0;
    return r.from + TURNS * r.period + (all - r.from) % r.period;
}

static bool run_node(struct vs_step_times *times, struct vs_step_node *node, struct vs_err *err) {
    uint32_t few = is_copy(node) ? 0 : few_layers(times), all = times->s->c->model->layers;
    times->use_count = vs_sum_count(&times->s->x);
    if (!vs_vec_reserve(&times->uses, 2 * times->use_count)) /* the second half is scratch */
        return vs_err_nomem(err);
    double *uses = times->uses.at + times->uses.count, *more = uses + times->use_count, more_s;
    if (!run_phase(times, node, few, &node->seconds, uses, err))
        return false;
    times->uses.count += times->use_count;
    if (few == 0)
        return true;
    if (!run_phase(times, node, few + times->repeat.period, &more_s, more, err))
        return false;
    double turns = (double)((all - few) / times->repeat.period);
    node->seconds += turns * (more_s - node->seconds);
    for (size_t i = 0; i < times->use_count; i++)
        uses[i] += turns * (more[i] - uses[i]);
    return true;
}

/* The node at a place, run on the event engine when it is first asked for. */
static bool find_node(struct vs_step_times *times, const uint32_t at[VS_STEP_DIMS], uint32_t *found,
                      struct vs_err *err) {
    if (!widen(times, err))
        return false;
    size_t slot = slot_of(times, at);
    if (times->table[slot] == 0) {
        struct vs_step_node node = {.seconds = 0};
        memcpy(node.at, at, sizeof node.at);
        if (!run_node(times, &node, err))
            return false;
        if (!vs_vec_push(&times->nodes, node))
            return vs_err_nomem(err);
        times->table[slot] = (uint32_t)times->nodes.count;
    }
    *found = times->table[slot] - 1;
    return true;
}

static bool add_part(struct vs_step_times *times, struct vs_step_estimate *e,
                     const uint32_t at[VS_STEP_DIMS], double share, struct vs_err *err) {
    uint32_t node = 0;
    if (!find_node(times, at, &node, err))
        return false;
    e->seconds += share * times->nodes.at[node].seconds;
    e->parts[e->part_count].node = node;
    e->parts[e->part_count++].share = share;
    return true;
}

/* Two nodes of one dimension, and how far between them. */
struct between {
    uint32_t low, high;
    double part;
};

/* Whole numbers up to 16, then PARTS to an octave. */
static struct between place_finely(double value) {
    uint32_t octave = 1;
    if (value <= 0)
        return (struct between){.part = 0};
    while (octave < 1U << 30 && 2.0 * octave <= value)
        octave *= 2;
    uint32_t step = octave >= 16 ? octave / OCTAVE_PARTS : 1;
    uint32_t low = octave + (uint32_t)((value > octave ? value - octave : 0) / step) * step;
    double part = value > low ? (value - low) / step : 0;
    return (struct between){.low = low, .high = low + step, .part = part};
}

/* Powers of two. */
static struct between place_on_line(double value) {
    uint32_t low = 1;
    if (value <= 0)
        return (struct between){.part = 0};
    while (low < 1U << 30 && 2.0 * low <= value)
        low *= 2;
    return (struct between){
        .low = low, .high = 2 * low, .part = value > low ? (value - low) / low : 0};
}

/* From the lower nodes along a line in each of the dimensions in which time is linear. */
static bool on_lines(struct vs_step_times *times, const struct between b[VS_STEP_DIMS],
                     uint32_t at[VS_STEP_DIMS], double share, struct vs_step_estimate *e,
                     struct vs_err *err) {
    static const int LINES[] = {CELLS, REACH, PROMPTS, OTHERS};
    enum { COUNT = sizeof LINES / sizeof *LINES };
    double base = 1;
    for (size_t i = 0; i < COUNT; i++) {
        at[LINES[i]] = b[LINES[i]].low;
        base -= b[LINES[i]].part;
    }
    if (!add_part(times, e, at, share * base, err))
        return false;
    for (size_t i = 0; i < COUNT; i++) {
        int d = LINES[i];
        if (b[d].part <= 0)
            continue;
        at[d] = b[d].high;
        if (!add_part(times, e, at, share * b[d].part, err))
            return false;
        at[d] = b[d].low;
    }
    return true;
}

static double mean(double total, double count) { return count > 0 ? total / count : 0; }

/* A host that schedules one step ahead handles the sequences of the next while the device works: it
 * holds up only steps that are shorter. Not part of a node, whose layers are not all run. */
static double host_beside_s(const struct vs_step_times *times, const struct vs_step_load *load) {
    double each_s = vs_engine_number(times->s->c->engine, "sequence_beside_s", NULL, 0);
    return each_s * (load->decodes + load->prompts);
}

bool vs_step_time(struct vs_step_times *times, const struct vs_step_load *load,
                  struct vs_step_estimate *e, struct vs_err *err) {
    const struct between b[VS_STEP_DIMS] = {
        [DECODES] = place_finely(load->decodes),
        [CELLS] = place_on_line(mean(load->cells, load->decodes)),
        [TOKENS] = place_finely(load->prompt_tokens),
        [REACH] = place_on_line(mean(load->pairs, load->prompt_tokens)),
        [PROMPTS] = place_finely(load->prompts),
        [OTHERS] = place_finely(load->other_tokens)};
    const struct between *d = &b[DECODES], *t = &b[TOKENS];
    *e = (struct vs_step_estimate){.seconds = 0};
    for (unsigned corner = 0; corner < 4; corner++) {
        double share = (corner & 1 ? d->part : 1 - d->part) * (corner & 2 ? t->part : 1 - t->part);
        uint32_t at[VS_STEP_DIMS] = {
            [DECODES] = corner & 1 ? d->high : d->low, [TOKENS] = corner & 2 ? t->high : t->low};
        if (share > 0 && !on_lines(times, b, at, share, e, err))
            return false;
    }
    double beside_s = host_beside_s(times, load);
    if (beside_s > e->seconds)
        e->seconds = beside_s;
    return true;
}

bool vs_copy_time(struct vs_step_times *times, uint64_t blocks, bool to_host,
                  struct vs_step_estimate *e, struct vs_err *err) {
    struct between b = place_on_line((double)blocks);
    uint32_t at[VS_STEP_DIMS] = {[DECODES] = to_host ? TO_HOST : FROM_HOST, [CELLS] = b.low};
    *e = (struct vs_step_estimate){.seconds = 0};
    if (blocks == 0)
        return true;
    if (!add_part(times, e, at, 1 - b.part, err))
        return false;
    at[CELLS] = b.high;
    return b.part <= 0 || add_part(times, e, at, b.part, err);
}

void vs_step_count(struct vs_step_times *times, const struct vs_step_estimate *e, double count) {
    for (size_t i = 0; i < e->part_count; i++)
        times->nodes.at[e->parts[i].node].weight += count * e->parts[i].share;
}

void vs_step_uses(const struct vs_step_times *times) {
    vs_clear_sums(&times->s->x);
    for (size_t i = 0; i < times->nodes.count; i++)
        vs_sums_add(&times->s->x, times->uses.at + i * times->use_count, times->nodes.at[i].weight);
}
