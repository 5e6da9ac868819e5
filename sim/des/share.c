#include "des/share.h"

#include <float.h>

#define NONE UINT32_MAX
#define LOWEST DBL_MIN /* rate: a flow that is there is never at rest */

/* For how many solutions all is taken as one component after it was found to be one. It costs less
 * than searching, and little where it has fallen apart since. */
enum { WHOLE_SOLUTIONS = 16 };

static struct vs_share_flow *flow_at(const struct vs_share *share, uint32_t flow) {
    return &share->slots.at[(size_t)flow * VS_SHARE_STRIDE].flow;
}

static struct vs_share_node *node_at(const struct vs_share *share, uint32_t slot) {
    return &share->slots.at[slot].node;
}

/* The flow's term k. */
static struct vs_share_node *term_at(const struct vs_share *share, uint32_t flow, uint32_t k) {
    return node_at(share, flow * VS_SHARE_STRIDE + 1 + k);
}

static uint32_t flow_of(uint32_t slot) { return slot / VS_SHARE_STRIDE; }

static struct vs_share_resource *resource_at(const struct vs_share *share, uint32_t resource) {
    return &share->resources.at[resource];
}

/* Room for all resources or flows: lists are filled later without a check. */
#define LIST_RESERVE(list, n) vs_lines_grow(&(list).at, &(list).room, (n), sizeof *(list).at)

uint32_t vs_share_add_resource(struct vs_share *share, double capacity) {
    const size_t count = share->resources.count;
    if (count >= NONE || !VS_LINES_RESERVE(&share->resources, 1) ||
        !LIST_RESERVE(share->touched, count + 1) || !LIST_RESERVE(share->switched, count + 1) ||
        !LIST_RESERVE(share->found, count + 1) || !LIST_RESERVE(share->active, count + 1) ||
        !LIST_RESERVE(share->bound, count + 1))
        return NONE;
    share->resources.at[count] = (struct vs_share_resource){.capacity = capacity, .first = NONE};
    share->resources.count++;
    return (uint32_t)count;
}

uint32_t vs_share_add_flow(struct vs_share *share) {
    const size_t count = share->slots.count / VS_SHARE_STRIDE;
    if (count >= NONE / VS_SHARE_STRIDE || !VS_LINES_RESERVE(&share->slots, VS_SHARE_STRIDE) ||
        !LIST_RESERVE(share->changed, count + 1) || !LIST_RESERVE(share->limited, count + 1) ||
        !LIST_RESERVE(share->flows, count + 1))
        return NONE;
    share->slots.count += VS_SHARE_STRIDE;
    *flow_at(share, (uint32_t)count) = (struct vs_share_flow){0};
    return (uint32_t)count;
}

void vs_share_release(struct vs_share *share) {
    vs_vec_release(&share->slots);
    vs_vec_release(&share->resources);
    vs_vec_release(&share->touched);
    vs_vec_release(&share->switched);
    vs_vec_release(&share->active);
    vs_vec_release(&share->found);
    vs_vec_release(&share->bound);
    vs_vec_release(&share->flows);
    vs_vec_release(&share->changed);
    vs_vec_release(&share->limited);
}

void vs_share_clear(struct vs_share *share) {
    for (size_t i = 0; i < share->slots.count; i += VS_SHARE_STRIDE)
        share->slots.at[i].flow = (struct vs_share_flow){0};
    for (size_t i = 0; i < share->resources.count; i++) {
        struct vs_share_resource *r = &share->resources.at[i];
        *r = (struct vs_share_resource){.capacity = r->capacity, .first = NONE};
    }
    share->touched.count = share->switched.count = share->changed.count = share->found.count = 0;
    share->busy_count = share->limited_count = 0;
    share->whole_left = 0;
}

static void touch(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    if (r->touched)
        return;
    r->touched = true;
    share->touched.at[share->touched.count++] = resource;
}

void vs_share_enter(struct vs_share *share, uint32_t flow, double limit,
                    const struct vs_share_term *terms, size_t term_count) {
    *flow_at(share, flow) = (struct vs_share_flow){
        .limit = limit > 0 ? limit : DBL_MAX,
        .term_count = (uint8_t)term_count,
    };
    share->limited_count += limit > 0;
    for (uint32_t k = 0; k < term_count; k++) {
        struct vs_share_resource *r = resource_at(share, terms[k].resource);
        const uint32_t slot = flow * VS_SHARE_STRIDE + 1 + k;
        *node_at(share, slot) = (struct vs_share_node){.coefficient = terms[k].coefficient,
                                                       .resource = terms[k].resource,
                                                       .next = r->first,
                                                       .prev = NONE};
        if (r->first != NONE)
            node_at(share, r->first)->prev = slot;
        r->first = slot;
        share->busy_count += r->flow_count++ == 0;
        touch(share, terms[k].resource);
    }
}

void vs_share_leave(struct vs_share *share, uint32_t flow) {
    struct vs_share_flow *f = flow_at(share, flow);
    for (uint32_t k = 0; k < f->term_count; k++) {
        const struct vs_share_node *node = term_at(share, flow, k);
        struct vs_share_resource *r = resource_at(share, node->resource);
        if (node->prev == NONE)
            r->first = node->next;
        else
            node_at(share, node->prev)->next = node->next;
        if (node->next != NONE)
            node_at(share, node->next)->prev = node->prev;
        share->busy_count -= --r->flow_count == 0;
        touch(share, node->resource);
    }
    share->limited_count -= f->term_count > 0 && f->limit < DBL_MAX;
    *f = (struct vs_share_flow){0};
}

static bool differ(double a, double b) { return a < b || a > b; }

static void set_rate(struct vs_share *share, uint32_t flow, double rate) {
    struct vs_share_flow *f = flow_at(share, flow);
    if (differ(f->rate, rate))
        share->changed.at[share->changed.count++] = flow;
    f->rate = rate;
}

/* The resource's part in this solution is known. */
static void report(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    const uint8_t state = (uint8_t)((r->flow_count > 0 ? 1 : 0) | (r->binding ? 2 : 0));
    if (state == r->reported)
        return;
    r->reported = state;
    share->switched.at[share->switched.count++] = resource;
}

/* A solution marks the flows that it saw, then those that it stopped, with numbers of its own,
 * which rise: so none has to be reset. */
static uint32_t seen_mark(const struct vs_share *share) { return 2 * share->solution; }
static uint32_t stopped_mark(const struct vs_share *share) { return 2 * share->solution + 1; }

static bool is_open(const struct vs_share *share, uint32_t flow) {
    return flow_at(share, flow)->mark < stopped_mark(share);
}

static double sum_open(const struct vs_share *share, const struct vs_share_resource *r) {
    double slope = 0;
    for (uint32_t slot = r->first; slot != NONE; slot = node_at(share, slot)->next)
        if (is_open(share, flow_of(slot)))
            slope += node_at(share, slot)->coefficient;
    return slope;
}

/* The rate at which the resource is full if its open flows grow together. */
static double refresh(struct vs_share *share, struct vs_share_resource *r) {
    /* What is left after subtracting carries the rounding of what was there; bounding the loss to
     * four bits keeps the slope as good as a sum. */
    if (r->slope < 0.0625 * r->slope_summed)
        r->slope = r->slope_summed = sum_open(share, r);
    double level = (r->capacity - r->used) / r->slope;
    /* Levels only rise while filling; rounding, or a quotient without a value, may not break that.
     */
    level = level > r->level ? level : r->level;
    level = level < DBL_MAX ? level : DBL_MAX;
    r->level = level;
    return level;
}

/* The lowest level at which a resource becomes full. Fills `bound` with those that do. Here and
 * below, lists are filled without branches that no predictor could learn: an entry is always
 * written, and counted if it belongs there. */
static double next_level(struct vs_share *share) {
    size_t count = 0;
    for (size_t i = 0; i < share->active.count; i++) {
        const uint32_t resource = share->active.at[i];
        share->active.at[count] = resource;
        count += resource_at(share, resource)->open_count > 0;
    }
    share->active.count = count;
    double lowest = DBL_MAX;
    for (size_t i = 0; i < count; i++) {
        const double level = refresh(share, resource_at(share, share->active.at[i]));
        lowest = level < lowest ? level : lowest;
    }
    size_t bound = 0;
    for (size_t i = 0; i < count; i++) {
        share->bound.at[bound] = share->active.at[i];
        bound += resource_at(share, share->active.at[i])->level <= lowest;
    }
    share->bound.count = bound;
    return lowest;
}

static inline void stop(struct vs_share *share, uint32_t flow, double rate) {
    const struct vs_share_flow *f = flow_at(share, flow);
    for (uint32_t k = 0; k < f->term_count; k++) {
        const struct vs_share_node *node = term_at(share, flow, k);
        struct vs_share_resource *r = &share->resources.at[node->resource];
        r->open_count--;
        r->slope -= node->coefficient;
        r->used += node->coefficient * rate;
    }
    set_rate(share, flow, rate);
}

/* Stops the flows that meet their limit before any resource is full; how many. */
static size_t stop_limited(struct vs_share *share, double level) {
    size_t kept = 0;
    size_t stopped = 0;
    for (size_t i = 0; i < share->limited.count; i++) {
        const uint32_t flow = share->limited.at[i];
        struct vs_share_flow *f = flow_at(share, flow);
        if (!is_open(share, flow))
            continue;
        if (f->limit < level) {
            f->mark = stopped_mark(share);
            stop(share, flow, f->limit);
            stopped++;
        } else {
            share->limited.at[kept++] = flow;
        }
    }
    share->limited.count = kept;
    return stopped;
}

/* Lists the flows of a resource that don't have the mark yet, and marks them; how many. */
static size_t list_flows(struct vs_share *share, const struct vs_share_resource *r, uint32_t mark) {
    uint32_t *flows = share->flows.at;
    size_t count = 0;
    for (uint32_t slot = r->first; slot != NONE; slot = node_at(share, slot)->next) {
        struct vs_share_flow *f = flow_at(share, flow_of(slot));
        flows[count] = flow_of(slot);
        count += f->mark < mark;
        f->mark = mark;
    }
    return count;
}

/* Stops the flows at all resources that are full at `level`; how many. */
static size_t stop_bound(struct vs_share *share, double level) {
    size_t stopped = 0;
    for (size_t i = 0; i < share->bound.count; i++) {
        struct vs_share_resource *r = resource_at(share, share->bound.at[i]);
        r->binding = true;
        const size_t count = list_flows(share, r, stopped_mark(share));
        for (size_t k = 0; k < count; k++)
            stop(share, share->flows.at[k], level);
        stopped += count;
    }
    return stopped;
}

static void find_resource(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    if (r->found)
        return;
    r->found = true;
    share->found.at[share->found.count++] = resource;
}

static void forget_found(struct vs_share *share) {
    for (size_t i = 0; i < share->found.count; i++)
        resource_at(share, share->found.at[i])->found = false;
    share->found.count = 0;
}

static void find_flow(struct vs_share *share, uint32_t flow) {
    const struct vs_share_flow *f = flow_at(share, flow);
    if (f->limit < DBL_MAX)
        share->limited.at[share->limited.count++] = flow;
    for (uint32_t k = 0; k < f->term_count; k++)
        find_resource(share, term_at(share, flow, k)->resource);
}

static void find_component(struct vs_share *share, uint32_t resource) {
    find_resource(share, resource);
    for (size_t i = 0; i < share->found.count; i++) {
        if (share->found.count == share->busy_count && share->limited_count == 0)
            break; /* that is all there is */
        const struct vs_share_resource *r = resource_at(share, share->found.at[i]);
        const size_t count = list_flows(share, r, seen_mark(share));
        for (size_t k = 0; k < count; k++)
            find_flow(share, share->flows.at[k]);
    }
}

static void open_resource(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    if (r->touched)
        r->slope_full = sum_open(share, r);
    r->touched = r->binding = false;
    r->level = LOWEST;
    r->used = 0;
    r->slope = r->slope_summed = r->slope_full;
    r->open_count = r->flow_count;
}

/* Solves for the resources in `found`, one component or several: the rates are the same, bit by
 * bit, unless flows have limits. */
static void solve_found(struct vs_share *share) {
    for (size_t i = 0; i < share->found.count; i++) {
        share->active.at[i] = share->found.at[i];
        open_resource(share, share->found.at[i]);
    }
    share->active.count = share->found.count;
    for (;;) {
        const double level = next_level(share);
        if (share->active.count == 0)
            break;
        if (stop_limited(share, level) == 0)
            stop_bound(share, level);
    }
    for (size_t i = 0; i < share->found.count; i++)
        report(share, share->found.at[i]);
}

static void solve_component(struct vs_share *share, uint32_t resource) {
    share->limited.count = 0;
    find_component(share, resource);
    solve_found(share);
    if (share->found.count == share->busy_count)
        share->whole_left = WHOLE_SOLUTIONS; /* and `found` is kept */
    else
        forget_found(share);
}

/* Solves for all that is busy, or was; false where that is not known to be one component. */
static bool solve_whole(struct vs_share *share) {
    if (share->whole_left == 0)
        return false;
    if (share->limited_count > 0 || --share->whole_left == 0) {
        share->whole_left = 0;
        forget_found(share);
        return false;
    }
    for (size_t i = 0; i < share->touched.count; i++)
        find_resource(share, share->touched.at[i]);
    share->limited.count = 0;
    solve_found(share);
    return true;
}

/* True when the flow shares none of its resources with another. */
static bool is_alone(const struct vs_share *share, uint32_t flow) {
    for (uint32_t k = 0; k < flow_at(share, flow)->term_count; k++)
        if (resource_at(share, term_at(share, flow, k)->resource)->flow_count != 1)
            return false;
    return true;
}

/* The same result as solve_component for one flow, bit by bit. */
static void solve_alone(struct vs_share *share, uint32_t flow) {
    const struct vs_share_flow *f = flow_at(share, flow);
    double levels[VS_SHARE_TERMS_MAX];
    double lowest = DBL_MAX;
    for (uint32_t k = 0; k < f->term_count; k++) {
        const struct vs_share_node *node = term_at(share, flow, k);
        const double level = resource_at(share, node->resource)->capacity / node->coefficient;
        levels[k] = level > LOWEST ? level : LOWEST;
        lowest = levels[k] < lowest ? levels[k] : lowest;
    }
    for (uint32_t k = 0; k < f->term_count; k++) {
        const uint32_t resource = term_at(share, flow, k)->resource;
        struct vs_share_resource *r = resource_at(share, resource);
        r->touched = false;
        r->slope_full = term_at(share, flow, k)->coefficient;
        r->binding = levels[k] <= lowest && lowest <= f->limit;
        report(share, resource);
    }
    set_rate(share, flow, f->limit < lowest ? f->limit : lowest);
}

static void begin_solution(struct vs_share *share) {
    share->changed.count = share->switched.count = 0;
    if (share->solution == UINT32_MAX / 2) { /* the marks start again */
        for (size_t i = 0; i < share->slots.count; i += VS_SHARE_STRIDE)
            share->slots.at[i].flow.mark = 0;
        share->solution = 0;
    }
    share->solution++;
}

static void solve_touched(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    if (!r->touched)
        return; /* in a component that is solved already */
    if (r->flow_count == 0) {
        r->touched = r->binding = false;
        r->slope_full = 0;
        report(share, resource);
    } else if (r->flow_count == 1 && is_alone(share, flow_of(r->first))) {
        solve_alone(share, flow_of(r->first));
    } else {
        solve_component(share, resource);
    }
}

void vs_share_solve(struct vs_share *share) {
    begin_solution(share);
    if (share->touched.count == 0)
        return;
    if (!solve_whole(share))
        for (size_t i = 0; i < share->touched.count; i++)
            solve_touched(share, share->touched.at[i]);
    share->touched.count = 0;
}
