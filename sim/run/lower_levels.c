/* Memory levels of a timeline. A walk finds what the driver has handed out behind each operation's
 * memory actions; the clock, which runs later, says when that operation starts. Both meet here. */
#include "run/lower.h"

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
    x->walked[place].uses.count = 0;
    x->older = 1 - place;
}

bool vs_levels_note(struct vs_executor *x) {
    struct vs_walked *walked = &x->walked[1 - x->older];
    for (size_t i = 0; i < pool_count(x); i++) {
        const struct vs_pool *pool = pool_of(x, i);
        uint64_t bytes = 0;
        if (pool) {
            struct vs_pool_stats stats = vs_pool_stats(pool);
            bytes = stats.reserved_bytes + stats.raw_bytes;
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
static bool show(struct vs_executor *x, const uint64_t *uses, double at_s) {
    x->shown_s = at_s > x->shown_s ? at_s : x->shown_s;
    for (size_t i = 0; i < pool_count(x); i++) {
        if (uses[i] == x->shown[i])
            continue;
        struct vs_level level = {x->shown_s, vs_pool_name(pool_of(x, i)), uses[i]};
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
    size_t noted = walked->uses.count / pool_count(x);
    for (size_t i = 0; i < x->activity.count && i < noted; i++) {
        double start_s = (double)vs_des_start(x->des, x->activity.at[i]) / (double)VS_TIME_PER_S;
        if (!show(x, &walked->uses.at[i * pool_count(x)], from_s + start_s))
            return false;
    }
    bool to_the_end = x->activity.count == phase->ops.count;
    if (to_the_end && noted > phase->ops.count)
        return show(x, &walked->uses.at[phase->ops.count * pool_count(x)], end_s);
    return true;
}
