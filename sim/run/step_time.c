/* The grid. Decodes and prompt tokens: whole numbers up to 8, then four to an octave, for matrices
 * have a bend between reading and computing (the chord over a quarter of an octave is off by less
 * than 0.5 % there); the time between is bilinear. Cells, reach and prompts: octaves, for a step's
 * time is linear in each of them but where windows end, which are powers of two; each is one line
 * from the lower node. */
#include "run/step_time.h"

#include <stdlib.h>
#include <string.h>

enum { DECODES, CELLS, TOKENS, REACH, PROMPTS };

void vs_step_times_release(struct vs_step_times *times) {
    vs_vec_release(&times->nodes);
    free(times->table);
    times->table = NULL;
    times->slots = 0;
}

static size_t slot_of(const struct vs_step_times *times, const uint32_t at[VS_STEP_DIMS]) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (int i = 0; i < VS_STEP_DIMS; i++)
        hash = (hash ^ at[i]) * 0x9e3779b97f4a7c15ULL;
    size_t slot = (size_t)(hash >> 32) & (times->slots - 1);
    while (times->table[slot] != 0 &&
           memcmp(times->nodes.at[times->table[slot] - 1].at, at, sizeof times->nodes.at->at) != 0)
        slot = (slot + 1) & (times->slots - 1);
    return slot;
}

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

/* The time of a node, run on the event engine when it is first asked for. */
static bool node_time(struct vs_step_times *times, const uint32_t at[VS_STEP_DIMS], double *seconds,
                      struct vs_err *err) {
    if (!widen(times, err))
        return false;
    size_t slot = slot_of(times, at);
    if (times->table[slot] != 0) {
        *seconds = times->nodes.at[times->table[slot] - 1].seconds;
        return true;
    }
    const struct vs_serve_step step = {.decodes = at[DECODES],
                                       .cells = at[CELLS],
                                       .prompt_tokens = at[TOKENS],
                                       .reach = at[REACH],
                                       .prompts = at[PROMPTS]};
    struct vs_step_node node = {.seconds = 0};
    memcpy(node.at, at, sizeof node.at);
    vs_forget_walk(&times->s->x);
    if (!vs_emit_step(&times->s->plan, &step, times->phase, err) ||
        !vs_time_phase(&times->s->x, times->phase, VS_NO_OP, 0, &node.seconds, err))
        return false;
    if (!vs_vec_push(&times->nodes, node))
        return vs_err_nomem(err);
    times->table[slot] = (uint32_t)times->nodes.count;
    *seconds = node.seconds;
    return true;
}

/* Two nodes of one dimension, and how far between them. */
struct between {
    uint32_t low, high;
    double part;
};

static struct between place(double value, bool fine) {
    if (value <= 0)
        return (struct between){.part = 0};
    uint32_t octave = 1;
    while (octave < 1U << 30 && 2.0 * octave <= value)
        octave *= 2;
    uint32_t step = !fine ? octave : octave >= 8 ? octave / 4 : 1;
    uint32_t low = octave + (uint32_t)((value > octave ? value - octave : 0) / step) * step;
    double part = value > low ? (value - low) / step : 0;
    return (struct between){.low = low, .high = low + step, .part = part};
}

/* From the lower nodes along a line in each of the dimensions in which time is linear. */
static bool on_lines(struct vs_step_times *times, const struct between b[VS_STEP_DIMS],
                     uint32_t at[VS_STEP_DIMS], double *seconds, struct vs_err *err) {
    static const int LINES[] = {CELLS, REACH, PROMPTS};
    double base, there;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
        at[LINES[i]] = b[LINES[i]].low;
    if (!node_time(times, at, &base, err))
        return false;
    *seconds = base;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        int d = LINES[i];
        if (b[d].part <= 0)
            continue;
        at[d] = b[d].high;
        if (!node_time(times, at, &there, err))
            return false;
        at[d] = b[d].low;
        *seconds += b[d].part * (there - base);
    }
    return true;
}

static double mean(double total, double count) { return count > 0 ? total / count : 0; }

bool vs_step_time(struct vs_step_times *times, const struct vs_step_load *load, double *seconds,
                  struct vs_err *err) {
    const struct between b[VS_STEP_DIMS] = {
        [DECODES] = place(load->decodes, true),
        [CELLS] = place(mean(load->cells, load->decodes), false),
        [TOKENS] = place(load->prompt_tokens, true),
        [REACH] = place(mean(load->pairs, load->prompt_tokens), false),
        [PROMPTS] = place(load->prompts, false)};
    *seconds = 0;
    for (unsigned corner = 0; corner < 4; corner++) {
        const struct between *d = &b[DECODES], *t = &b[TOKENS];
        double share = (corner & 1 ? d->part : 1 - d->part) * (corner & 2 ? t->part : 1 - t->part);
        uint32_t at[VS_STEP_DIMS] = {
            [DECODES] = corner & 1 ? d->high : d->low, [TOKENS] = corner & 2 ? t->high : t->low};
        double here;
        if (share <= 0)
            continue;
        if (!on_lines(times, b, at, &here, err))
            return false;
        *seconds += share * here;
    }
    return true;
}
