/* Max-min fair shares of resources, kept up to date while flows come and go. Mathematics only.
 *
 * A flow i has a rate y_i and uses c_ir * y_i of each resource r among its terms. Wanted is the
 * max-min fair vector y under sum_i c_ir * y_i <= capacity_r for all r,   y_i <= limit_i: no y_i
 * can grow without making some y_j <= y_i smaller. It is unique. Progressive filling finds it: all
 * rates grow together; where a resource becomes full (it is then *binding*), or a flow meets its
 * limit, the flows concerned stop; the others grow on. (Bertsekas & Gallager, Data Networks, 2nd
 * ed., 6.5.2.)
 *
 * Only connected components in which a flow came or went are solved again, in O(n + K * R) for n
 * terms, R resources and K filling rounds (K <= R + flows with a limit). Where all were one
 * component a few solutions ago, all are solved, for the search costs as much. A flow alone on its
 * resources costs O(its terms).
 *
 *     share resource 0 of capacity 6; flows 0, 1 (limit 1) and 2 with one term {0, 1}
 *     -> rates 2.5, 1, 2.5; resource 0 is binding.
 */
#ifndef VS_DES_SHARE_H
#define VS_DES_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "des/lines.h"

enum { VS_SHARE_TERMS_MAX = 6 };

struct vs_share_term {
    uint32_t resource;  /* the terms of one flow name different ones */
    double coefficient; /* > 0, finite */
};

struct vs_share_flow {
    double rate;        /* of the last solution; 0 before the first */
    double limit;       /* DBL_MAX = none */
    uint8_t term_count; /* 0 = the flow is not there */
    uint32_t mark;      /* 2 s = seen by solution s, 2 s + 1 = stopped by it */
};

/* One term of a flow as a member of its resource's list. */
struct vs_share_node {
    double coefficient;
    uint32_t resource;
    uint32_t next, prev; /* slots, or UINT32_MAX */
};

/* Flow f is slot 8 f, its terms follow: so the flow of a node is found without a load, and a flow
 * with one term lies on one cache line. */
union vs_share_slot {
    struct vs_share_flow flow;
    struct vs_share_node node;
};
enum { VS_SHARE_STRIDE = 8 };

struct vs_share_resource {
    double capacity;
    uint32_t first; /* node */
    uint32_t flow_count;
    bool binding;     /* it held back some flow in the last solution */
    bool touched;     /* a flow came or went since the last solution */
    bool found;       /* stands in `found` */
    uint8_t reported; /* by the last solution: 1 = busy, 2 = binding */
    /* While solving: */
    uint32_t open_count; /* flows that still grow */
    double level;        /* the resource is full at this rate or later */
    double used;         /* by flows that stopped */
    double slope;        /* sum of the coefficients of open flows */
    double slope_summed; /* the same when it was last summed up anew */
    double slope_full;   /* sum of all coefficients in the list's order; stale while touched */
};

/* An all-zero system is empty and ready. `resources`, `changed` and `switched` may be read. */
struct vs_share {
    VS_VEC(union vs_share_slot) slots;
    VS_VEC(struct vs_share_resource) resources;
    VS_VEC(uint32_t) changed;  /* flows whose rate the last solution changed */
    VS_VEC(uint32_t) switched; /* resources that became busy, idle, binding or not binding */
    VS_VEC(uint32_t) touched;  /* resources */
    size_t busy_count;         /* resources with flows */
    size_t limited_count;      /* flows with a limit */
    uint32_t solution;         /* its number, from 1 */
    uint32_t whole_left;       /* solutions for which `found` is kept and all of it is solved */
    VS_VEC(uint32_t) found;    /* resources of the component that is solved */
    /* While solving: */
    VS_VEC(uint32_t) active;  /* resources with open flows */
    VS_VEC(uint32_t) bound;   /* resources that are full at the present level */
    VS_VEC(uint32_t) limited; /* open flows with a limit */
    VS_VEC(uint32_t) flows;   /* of one resource */
};

/* Add a resource, or a place for a flow (which is not there yet); UINT32_MAX when memory runs out.
 */
uint32_t vs_share_add_resource(struct vs_share *share, double capacity);
uint32_t vs_share_add_flow(struct vs_share *share);
void vs_share_release(struct vs_share *share);

/* Takes all flows away, keeps resources and places. */
void vs_share_clear(struct vs_share *share);

/* A flow comes (1..VS_SHARE_TERMS_MAX terms, copied; limit 0 = none) or goes. Rates are old until
 * vs_share_solve. */
void vs_share_enter(struct vs_share *share, uint32_t flow, double limit,
                    const struct vs_share_term *terms, size_t term_count);
void vs_share_leave(struct vs_share *share, uint32_t flow);

/* Of the last solution; 0 before the flow's first. */
static inline double vs_share_rate(const struct vs_share *share, uint32_t flow) {
    return share->slots.at[flow * VS_SHARE_STRIDE].flow.rate;
}

/* Hints that the flow will leave soon: first it is brought near, then (once it has come) its
 * resource. */
static inline void vs_share_prefetch(const struct vs_share *share, uint32_t flow) {
    VS_PREFETCH(&share->slots.at[flow * VS_SHARE_STRIDE]);
}
static inline void vs_share_prefetch_resource(const struct vs_share *share, uint32_t flow) {
    VS_PREFETCH(&share->resources.at[share->slots.at[flow * VS_SHARE_STRIDE + 1].node.resource]);
}

/* Solves what changed since the last call, and fills `changed` and `switched`, each entry once. A
 * resource is busy while flow_count > 0. */
void vs_share_solve(struct vs_share *share);

#endif
