/* Memory levels of a timeline. A walk finds what the driver has handed out behind each operation's
 * memory actions; the clock, which runs later, says when that operation starts. Both meet here. */
#include "run/lower.h"

static const enum vs_home HOMES[VS_LEVEL_POOLS] = {VS_HOME_GPU, VS_HOME_HOST, VS_HOME_STORAGE};

/* The pool of one level; NULL where another level stands for it. */
static const struct vs_pool *pool_of(const struct vs_executor *x, size_t level) {
    const struct vs_pool *pool = x->pools[HOMES[level]];
    return level > 0 && pool == x->pools[VS_HOME_GPU] ? NULL : pool;
}

/* Two phases take turns in training: each has the place that it had, a new one takes the older. */
void vs_levels_begin(struct vs_executor *x, const struct vs_phase *phase) {
    size_t place = x->walked[0].phase == phase ? 0 : x->walked[1].phase == phase ? 1 : x->older;
    x->walked[place].phase = phase;
    x->walked[place].uses.count = 0;
    x->older = 1 - place;
}

bool vs_levels_note(struct vs_executor *x) {
    struct vs_walked *walked = &x->walked[1 - x->older];
    struct vs_uses uses = {{0}};
    for (size_t i = 0; i < VS_LEVEL_POOLS; i++) {
        const struct vs_pool *pool = pool_of(x, i);
        if (!pool)
            continue;
        struct vs_pool_stats stats = vs_pool_stats(pool);
        uses.bytes[i] = stats.reserved_bytes + stats.raw_bytes;
    }
    return vs_vec_push(&walked->uses, uses);
}

void vs_forget_walk(struct vs_executor *x) {
    x->moved.count = 0;
    x->walked[0].phase = x->walked[1].phase = NULL;
}

/* Levels change in the order of issue, so none stands before an earlier one although its operation,
 * on another lane, may start before. Levels that stay are left out. */
static bool show(struct vs_executor *x, const struct vs_uses *uses, double at_s) {
    x->shown_s = at_s > x->shown_s ? at_s : x->shown_s;
    for (size_t i = 0; i < VS_LEVEL_POOLS; i++) {
        if (uses->bytes[i] == x->shown.bytes[i])
            continue;
        struct vs_level level = {x->shown_s, vs_pool_name(pool_of(x, i)), uses->bytes[i]};
        if (!vs_vec_push(&x->levels, level))
            return false;
        x->shown.bytes[i] = uses->bytes[i];
    }
    return true;
}

bool vs_levels_time(struct vs_executor *x, const struct vs_phase *phase, double from_s,
                    double end_s) {
    const struct vs_walked *walked = &x->walked[x->walked[1].phase == phase];
    if (walked->phase != phase)
        return true;
    for (size_t i = 0; i < x->activity.count && i < walked->uses.count; i++) {
        double start_s = (double)vs_des_start(x->des, x->activity.at[i]) / (double)VS_TIME_PER_S;
        if (!show(x, &walked->uses.at[i], from_s + start_s))
            return false;
    }
    bool to_the_end = x->activity.count == phase->ops.count;
    if (to_the_end && walked->uses.count > phase->ops.count)
        return show(x, &walked->uses.at[phase->ops.count], end_s);
    return true;
}
