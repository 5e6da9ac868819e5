/* Memory levels of a timeline. A walk finds what the driver has handed out behind each operation's
 * memory actions; the clock, which runs later, says when that operation starts. Both meet here. */
#include "run/lower.h"

#include <string.h>

static size_t pool_count(const struct vs_executor *x) { return x->unit_count + 2; }

/* The pool of one level; NULL where another level stands for it. */
static const struct vs_pool *pool_of(const struct vs_executor *x, size_t level) {
    if (level < x->unit_count)
        return x->pools[VS_HOME_GPU + level];
    const struct vs_pool *pool = x->pools[level == x->unit_count ? VS_HOME_HOST : VS_HOME_STORAGE];
    return pool == x->pools[VS_HOME_GPU] ? NULL : pool;
}

/* Two phases take turns in training: each has the place that it had, a new one takes the older. */
void vs_levels_begin(struct vs_executor *x, const struct vs_phase *phase) {
    size_t place = x->walked[0].phase == phase ? 0 : x->walked[1].phase == phase ? 1 : x->older;
    x->walked[place].phase = phase;
    x->walked[place].uses.count = x->walked[place].held.count = 0;
    x->older = 1 - place;
    memset(x->noted, 0xff, sizeof x->noted); /* no tag holds so much: the first note tells all */
}

/* What changed since the last note. */
static bool note_tags(struct vs_executor *x, struct vs_walked *walked, size_t level,
                      const uint64_t by_tag[VS_TAG_COUNT]) {
    const vs_op_id op = (vs_op_id)(walked->uses.count / pool_count(x));
    for (int t = 0; t < VS_TAG_COUNT; t++) {
        const struct vs_held held = {op, (uint32_t)level, (enum vs_tag)t, by_tag[t]};
        if (x->noted[level][t] == by_tag[t])
            continue;
        x->noted[level][t] = by_tag[t];
        if (!vs_vec_push(&walked->held, held))
            return false;
    }
    return true;
}

bool vs_levels_note(struct vs_executor *x) {
    struct vs_walked *walked = &x->walked[1 - x->older];
    for (size_t i = 0; i < pool_count(x); i++) {
        const struct vs_pool *pool = pool_of(x, i);
        uint64_t bytes = 0;
        if (pool) {
            struct vs_pool_stats stats = vs_pool_stats(pool);
            bytes = stats.reserved_bytes + stats.raw_bytes;
            if (!note_tags(x, walked, i, stats.by_tag))
                return false;
        }
        if (!vs_vec_push(&walked->uses, bytes))
            return false;
    }
    return true;
}

void vs_forget_walk(struct vs_executor *x) {
    x->moved.count = 0;
    x->walked[0].phase = x->walked[1].phase = NULL;
}

/* Levels change in the order of issue, so none stands before an earlier one although its operation,
 * on another lane, may start before. Levels that stay are left out. */
static bool show(struct vs_executor *x, const struct vs_walked *walked, size_t op, double at_s,
                 size_t *next) {
    const uint64_t *uses = &walked->uses.at[op * pool_count(x)];
    x->shown_s = at_s > x->shown_s ? at_s : x->shown_s;
    for (; *next < walked->held.count && walked->held.at[*next].op <= op; (*next)++) {
        const struct vs_held *h = &walked->held.at[*next];
        struct vs_level level = {x->shown_s, vs_pool_name(pool_of(x, h->level)), h->bytes,
                                 vs_tag_name(h->tag)};
        if (h->bytes == x->shown_by_tag[h->level][h->tag])
            continue;
        x->shown_by_tag[h->level][h->tag] = h->bytes;
        if (!vs_vec_push(&x->tag_levels, level))
            return false;
    }
    for (size_t i = 0; i < pool_count(x); i++) {
        if (uses[i] == x->shown[i])
            continue;
        struct vs_level level = {x->shown_s, vs_pool_name(pool_of(x, i)), uses[i], NULL};
        if (!vs_vec_push(&x->levels, level))
            return false;
        x->shown[i] = uses[i];
    }
    return true;
}

bool vs_levels_time(struct vs_executor *x, const struct vs_phase *phase, double from_s,
                    double end_s) {
    const struct vs_walked *walked = &x->walked[x->walked[1].phase == phase];
    if (walked->phase != phase)
        return true;
    size_t noted = walked->uses.count / pool_count(x), next = 0;
    for (size_t i = 0; i < x->activity.count && i < noted; i++) {
        double start_s = (double)vs_des_start(x->des, x->activity.at[i]) / (double)VS_TIME_PER_S;
        if (!show(x, walked, i, from_s + start_s, &next))
            return false;
    }
    bool to_the_end = x->activity.count == phase->ops.count;
    if (to_the_end && noted > phase->ops.count)
        return show(x, walked, phase->ops.count, end_s, &next);
    return true;
}
