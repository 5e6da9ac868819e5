#include "des/share.h"

#include <float.h>

#define NONE UINT32_MAX
#define LOWEST DBL_MIN /* rate: a flow that is there is never at rest */

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
    share->touched.count = share->switched.count = share->changed.count = 0;
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
        r->flow_count++;
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
        r->flow_count--;
        touch(share, node->resource);
    }
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
    const bool busy = r->flow_count > 0;
    r->found = false;
    if (busy == r->was_busy && r->binding == r->was_binding)
        return;
    r->was_busy = busy;
    r->was_binding = r->binding;
    share->switched.at[share->switched.count++] = resource;
}

static double sum_open(const struct vs_share *share, const struct vs_share_resource *r) {
    double slope = 0;
    for (uint32_t slot = r->first; slot != NONE; slot = node_at(share, slot)->next)
        if (flow_at(share, flow_of(slot))->open)
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
    struct vs_share_flow *f = flow_at(share, flow);
    f->open = false;
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
        const struct vs_share_flow *f = flow_at(share, flow);
        if (!f->open)
            continue;
        if (f->limit < level) {
            stop(share, flow, f->limit);
            stopped++;
        } else {
            share->limited.at[kept++] = flow;
        }
    }
    share->limited.count = kept;
    return stopped;
}

/* Lists the open flows of a resource, or those that are not; how many. */
static size_t list_flows(struct vs_share *share, const struct vs_share_resource *r, bool open,
                         uint32_t *list) {
    size_t count = 0;
    for (uint32_t slot = r->first; slot != NONE; slot = node_at(share, slot)->next) {
        list[count] = flow_of(slot);
        count += flow_at(share, flow_of(slot))->open == open;
    }
    return count;
}

/* Stops the flows at all resources that are full at `level`; how many. */
static size_t stop_bound(struct vs_share *share, double level) {
    size_t stopped = 0;
    for (size_t i = 0; i < share->bound.count; i++) {
        struct vs_share_resource *r = resource_at(share, share->bound.at[i]);
        r->binding = true;
        const size_t count = list_flows(share, r, true, share->flows.at);
        for (size_t k = 0; k < count; k++)
            stop(share, share->flows.at[k], level);
        stopped += count;
    }
    return stopped;
}

static void find_resource(struct vs_share *share, uint32_t resource) {
    struct vs_share_resource *r = resource_at(share, resource);
    r->found = true;
    r->touched = r->binding = false;
    r->level = LOWEST;
    r->used = r->slope = 0;
    r->open_count = 0;
    share->found.at[share->found.count++] = resource;
}

static void open_flow(struct vs_share *share, uint32_t flow) {
    struct vs_share_flow *f = flow_at(share, flow);
    f->open = true;
    if (f->limit < DBL_MAX)
        share->limited.at[share->limited.count++] = flow;
    for (uint32_t k = 0; k < f->term_count; k++) {
        const struct vs_share_node *node = term_at(share, flow, k);
        struct vs_share_resource *r = resource_at(share, node->resource);
        if (!r->found)
            find_resource(share, node->resource);
        r->slope += node->coefficient;
        r->open_count++;
    }
}

/* Opens the component of `resource`; how many flows it has. */
static size_t open_component(struct vs_share *share, uint32_t resource) {
    size_t open = 0;
    share->found.count = share->limited.count = 0;
    find_resource(share, resource);
    for (size_t i = 0; i < share->found.count; i++) {
        const struct vs_share_resource *r = resource_at(share, share->found.at[i]);
        if (r->open_count == r->flow_count)
            continue; /* all its flows were found elsewhere */
        const size_t count = list_flows(share, r, false, share->flows.at);
        for (size_t k = 0; k < count; k++)
            open_flow(share, share->flows.at[k]);
        open += count;
    }
    for (size_t i = 0; i < share->found.count; i++) {
        struct vs_share_resource *r = resource_at(share, share->found.at[i]);
        r->slope_summed = r->slope;
        share->active.at[i] = share->found.at[i];
    }
    share->active.count = share->found.count;
    return open;
}

static void solve_component(struct vs_share *share, uint32_t resource) {
    for (size_t open = open_component(share, resource); open > 0;) {
        const double level = next_level(share);
        const size_t stopped = stop_limited(share, level);
        open -= stopped > 0 ? stopped : stop_bound(share, level);
    }
    for (size_t i = 0; i < share->found.count; i++)
        report(share, share->found.at[i]);
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
        r->binding = levels[k] <= lowest && lowest <= f->limit;
        report(share, resource);
    }
    set_rate(share, flow, f->limit < lowest ? f->limit : lowest);
}

void vs_share_solve(struct vs_share *share) {
    share->changed.count = share->switched.count = 0;
    for (size_t i = 0; i < share->touched.count; i++) {
        const uint32_t resource = share->touched.at[i];
        struct vs_share_resource *r = resource_at(share, resource);
        if (!r->touched)
            continue; /* in a component that is solved already */
        if (r->flow_count == 0) {
            r->touched = r->binding = false;
            report(share, resource);
        } else if (r->flow_count == 1 && is_alone(share, flow_of(r->first))) {
            solve_alone(share, flow_of(r->first));
        } else {
            solve_component(share, resource);
        }
    }
    share->touched.count = 0;
}
