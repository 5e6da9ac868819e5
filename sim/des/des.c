#include "des/des.h"

#include <float.h>
#include <stdlib.h>

#include "base/vec.h"
#include "des/heap.h"
#include "des/lines.h"
#include "des/share.h"

_Static_assert((int)VS_DEMANDS_MAX == (int)VS_SHARE_TERMS_MAX, "one demand is one term");

enum { LATE = -1 }; /* a duration that no time can hold */

/* 64 bytes: a long chain is read once, in order. */
struct vs_des_activity {
    _Alignas(VS_LINE_BYTES) vs_time start; /* -1 = not yet */
    vs_time end;                           /* the same */
    vs_time latency;
    double max_rate;
    double unit; /* amount of the first demand: the rate counts in it */
    uint32_t stream;
    uint32_t next;      /* in its stream */
    uint32_t waits;     /* activities of other streams that have yet to end */
    uint32_t last_edge; /* of a ring of those that wait for this one, in order of creation */
    union {
        uint32_t demand_first;
        uint32_t resource; /* is_single: of the only demand, which lies here and not in `demands` */
    };
    uint16_t demand_count;
    bool is_single;
};

struct vs_des_edge {
    uint32_t to;
    uint32_t next; /* the ring's next edge */
};

enum vs_des_state {
    VS_DES_IDLE,
    VS_DES_LATENCY,      /* then comes service */
    VS_DES_LAST_LATENCY, /* then comes the end */
    VS_DES_SERVICE,
};

/* A stream runs one activity at a time, its head; so what runs is found by stream. What remains is
 * remaining + correction in units times 10^12 (because time is in 1/10^12 s) as of `since`: it is
 * brought up to date only when the rate changes, and the correction keeps what rounding took, so
 * that a million small steps are as exact as one. */
struct vs_des_stream {
    _Alignas(VS_LINE_BYTES) double remaining;
    double correction;
    double rate;
    vs_time since;
    vs_time busy;
    vs_time start; /* of the head, like the next two: so that its end reads no other line */
    uint32_t next; /* read when the head starts; VS_NONE = not known */
    uint32_t head, tail;
    uint8_t state;   /* enum vs_des_state */
    bool is_awaited; /* others wait for the head */
    bool late;       /* its event lies beyond VS_TIME_MAX */
};

struct vs_des_meter {
    double served; /* counted when it is asked for: at the end of a run that is the same */
    vs_time busy, saturated;
    vs_time busy_since, saturated_since; /* -1 = it is not */
};

struct vs_des {
    VS_VEC(struct vs_des_activity) activities;
    VS_VEC(struct vs_des_edge) edges;
    VS_VEC(struct vs_demand) demands;
    VS_VEC(struct vs_des_stream) streams;
    VS_VEC(struct vs_des_meter) meters; /* by resource */
    struct vs_heap heap;                /* one event per stream, ordered by activity */
    struct vs_share share;              /* flow = stream */
    vs_time now;
    size_t events;
};

struct vs_des *vs_des_new(void) {
    return calloc(1, sizeof(struct vs_des));
}

void vs_des_free(struct vs_des *des) {
    if (!des)
        return;
    vs_vec_release(&des->activities);
    vs_vec_release(&des->edges);
    vs_vec_release(&des->demands);
    vs_vec_release(&des->streams);
    vs_vec_release(&des->meters);
    vs_heap_release(&des->heap);
    vs_share_release(&des->share);
    free(des);
}

void vs_des_reset(struct vs_des *des) {
    des->activities.count = des->edges.count = des->demands.count = 0;
    for (size_t i = 0; i < des->streams.count; i++)
        des->streams.at[i] = (struct vs_des_stream){.head = VS_NONE, .tail = VS_NONE};
    for (size_t i = 0; i < des->meters.count; i++)
        des->meters.at[i] = (struct vs_des_meter){.busy_since = -1, .saturated_since = -1};
    vs_heap_clear(&des->heap);
    vs_share_clear(&des->share);
    des->now = 0;
    des->events = 0;
}

vs_resource vs_des_resource(struct vs_des *des, double capacity) {
    if (!(capacity > 0 && capacity <= DBL_MAX) || !VS_LINES_RESERVE(&des->meters, 1))
        return VS_NONE;
    const uint32_t resource = vs_share_add_resource(&des->share, capacity);
    if (resource != UINT32_MAX)
        des->meters.at[des->meters.count++] =
            (struct vs_des_meter){.busy_since = -1, .saturated_since = -1};
    return resource;
}

vs_stream vs_des_stream(struct vs_des *des) {
    if (!VS_LINES_RESERVE(&des->streams, 1) || !vs_heap_reserve(&des->heap, des->streams.count + 1))
        return VS_NONE;
    const uint32_t stream = vs_share_add_flow(&des->share);
    if (stream != UINT32_MAX)
        des->streams.at[des->streams.count++] =
            (struct vs_des_stream){.head = VS_NONE, .tail = VS_NONE};
    return stream;
}

static bool is_valid(const struct vs_des *des, const struct vs_activity_spec *spec) {
    if (spec->stream >= des->streams.count || spec->latency < 0 ||
        spec->demand_count > VS_DEMANDS_MAX || !(spec->max_rate >= 0 && spec->max_rate <= DBL_MAX))
        return false;
    for (size_t i = 0; i < spec->demand_count; i++) {
        const struct vs_demand *demand = &spec->demands[i];
        if (demand->resource >= des->meters.count ||
            !(demand->amount > 0 && demand->amount <= DBL_MAX))
            return false;
    }
    for (size_t i = 0; i < spec->after_count; i++)
        if (spec->after[i] >= des->activities.count)
            return false;
    return true;
}

/* Appends two demands or more; two on one resource become one, as the solver wants it. */
static uint16_t add_demands(struct vs_des *des, const struct vs_activity_spec *spec) {
    struct vs_demand *out = &des->demands.at[des->demands.count];
    uint16_t count = 0;
    for (size_t i = 0; i < spec->demand_count; i++) {
        uint32_t same = 0;
        while (same < count && out[same].resource != spec->demands[i].resource)
            same++;
        if (same < count)
            out[same].amount += spec->demands[i].amount;
        else
            out[count++] = spec->demands[i];
    }
    des->demands.count += count;
    return count;
}

/* Appends `to` to the ring of those that wait for `from`. */
static void add_edge(struct vs_des *des, struct vs_des_activity *from, uint32_t to) {
    const uint32_t edge = (uint32_t)des->edges.count++;
    uint32_t next = edge;
    if (from->last_edge != VS_NONE) {
        next = des->edges.at[from->last_edge].next;
        des->edges.at[from->last_edge].next = edge;
    }
    des->edges.at[edge] = (struct vs_des_edge){.to = to, .next = next};
    from->last_edge = edge;
}

vs_activity vs_des_add(struct vs_des *des, const struct vs_activity_spec *spec) {
    if (!is_valid(des, spec) || des->activities.count >= VS_NONE ||
        des->demands.count > VS_NONE - VS_DEMANDS_MAX ||
        spec->after_count > VS_NONE - des->edges.count || !VS_LINES_RESERVE(&des->activities, 1) ||
        !VS_LINES_RESERVE(&des->demands, spec->demand_count) ||
        !VS_LINES_RESERVE(&des->edges, spec->after_count))
        return VS_NONE;
    const uint32_t activity = (uint32_t)des->activities.count++;
    struct vs_des_activity *a = &des->activities.at[activity];
    *a = (struct vs_des_activity){
        .start = -1,
        .end = -1,
        .latency = spec->latency,
        .max_rate = spec->max_rate,
        .unit = spec->demand_count > 0 ? spec->demands[0].amount : 0,
        .stream = spec->stream,
        .next = VS_NONE,
        .last_edge = VS_NONE,
        .demand_first = (uint32_t)des->demands.count,
        .demand_count = (uint16_t)spec->demand_count,
        .is_single = spec->demand_count == 1,
    };
    if (a->is_single)
        a->resource = spec->demands[0].resource;
    else if (spec->demand_count > 1)
        a->demand_count = add_demands(des, spec);
    for (size_t i = 0; i < spec->demand_count; i++)
        des->meters.at[spec->demands[i].resource].served += spec->demands[i].amount;
    for (size_t i = 0; i < spec->after_count; i++) {
        struct vs_des_activity *from = &des->activities.at[spec->after[i]];
        if (from->stream == spec->stream || from->end >= 0)
            continue; /* the order of the stream says so, or it has ended */
        add_edge(des, from, activity);
        a->waits++;
    }
    struct vs_des_stream *stream = &des->streams.at[spec->stream];
    if (stream->head == VS_NONE)
        stream->head = activity;
    else
        des->activities.at[stream->tail].next = activity;
    stream->tail = activity;
    return activity;
}

/* The stream's event comes in `ticks`. Events that no time can hold wait at the end of time:
 * another activity may end first and leave a better rate. */
static void schedule(struct vs_des *des, uint32_t stream, vs_time ticks) {
    struct vs_des_stream *s = &des->streams.at[stream];
    s->late = ticks < 0 || ticks > VS_TIME_MAX - des->now;
    const struct vs_heap_key key = {
        .time_ps = s->late ? VS_TIME_MAX : des->now + ticks,
        .order = s->head,
        .id = stream,
    };
    vs_heap_set(&des->heap, key);
}

/* The first tick at which all is served. The quotient carries up to four roundings (rate,
 * remaining, division, this): what it exceeds a tick by less than these is not there on paper, as
 * when N flows share a link and 1/N is not a double. */
static vs_time ticks_to_serve(double remaining, double rate) {
    if (!(remaining > 0))
        return 0;
    const double quotient = remaining / rate;
    const double earliest = quotient - quotient * 0x1p-51;
    if (!(earliest < 0x1p63))
        return LATE;
    const vs_time ticks = (vs_time)earliest;
    return ticks + (earliest > (double)ticks || ticks == 0);
}

static void enter(struct vs_des *des, uint32_t stream, const struct vs_des_activity *a) {
    struct vs_share_term terms[VS_DEMANDS_MAX];
    if (a->is_single) {
        terms[0] = (struct vs_share_term){a->resource, 1};
        vs_share_enter(&des->share, stream, a->max_rate, terms, 1);
        return;
    }
    const struct vs_demand *demands = &des->demands.at[a->demand_first];
    for (uint32_t i = 0; i < a->demand_count; i++) {
        double ratio = demands[i].amount / a->unit;
        /* Amounts 300 orders of magnitude apart leave the range of ratios. */
        ratio = ratio < DBL_MIN ? DBL_MIN : ratio;
        ratio = ratio > DBL_MAX ? DBL_MAX : ratio;
        terms[i] = (struct vs_share_term){demands[i].resource, ratio};
    }
    vs_share_enter(&des->share, stream, a->max_rate, terms, a->demand_count);
}

static void serve(struct vs_des *des, uint32_t stream, const struct vs_des_activity *a) {
    struct vs_des_stream *s = &des->streams.at[stream];
    s->state = VS_DES_SERVICE;
    const double remaining = a->unit * (double)VS_TIME_PER_S;
    s->remaining = remaining < DBL_MAX ? remaining : DBL_MAX;
    s->correction = 0;
    s->rate = 0;
    s->since = des->now;
    enter(des, stream, a);
}

static void start(struct vs_des *des, uint32_t stream, struct vs_des_activity *a) {
    struct vs_des_stream *s = &des->streams.at[stream];
    a->start = s->start = des->now;
    s->next = a->next;
    s->is_awaited = a->last_edge != VS_NONE;
    if (a->latency == 0 && a->demand_count > 0) {
        serve(des, stream, a);
        return;
    }
    s->state = a->demand_count > 0 ? VS_DES_LATENCY : VS_DES_LAST_LATENCY;
    schedule(des, stream, a->latency);
}

static void start_if_ready(struct vs_des *des, uint32_t stream) {
    const struct vs_des_stream *s = &des->streams.at[stream];
    if (s->head == VS_NONE || s->state != VS_DES_IDLE)
        return;
    struct vs_des_activity *head = &des->activities.at[s->head];
    if (head->waits == 0)
        start(des, stream, head);
}

/* Those that wait for an ended activity and for nothing else start, in order of creation. */
static void release_waiting(struct vs_des *des, uint32_t last_edge) {
    uint32_t edge = last_edge;
    do {
        edge = des->edges.at[edge].next;
        struct vs_des_activity *waiting = &des->activities.at[des->edges.at[edge].to];
        waiting->waits--;
        start_if_ready(des, waiting->stream);
    } while (edge != last_edge);
}

static void finish(struct vs_des *des, uint32_t stream) {
    struct vs_des_stream *s = &des->streams.at[stream];
    const uint32_t ended = s->head;
    des->activities.at[ended].end = des->now;
    s->busy += des->now - s->start;
    if (s->state == VS_DES_SERVICE)
        vs_share_leave(&des->share, stream);
    s->state = VS_DES_IDLE;
    s->head = s->next;
    if (s->is_awaited)
        release_waiting(des, des->activities.at[ended].last_edge);
    start_if_ready(des, stream);
}

/* Adds the interval that ends now, if one does. */
static void meter(vs_time *since, vs_time *sum, bool on, vs_time now) {
    if (on && *since < 0) {
        *since = now;
    } else if (!on && *since >= 0) {
        *sum += now - *since;
        *since = -1;
    }
}

/* Serves up to now at the present rate. */
static void progress(struct vs_des_stream *s, vs_time now) {
    const double served = s->rate * (double)(now - s->since);
    const double left = s->remaining - served;
    s->correction += (s->remaining - left) - served; /* exact: Dekker's fast sum */
    s->remaining = left;
    s->since = now;
}

/* Once all events of this instant are handled: new shares, hence new ends and new usage. */
static void settle(struct vs_des *des) {
    struct vs_share *share = &des->share;
    vs_share_solve(share);
    for (size_t i = 0; i < share->changed.count; i++) {
        const uint32_t stream = share->changed.at[i];
        struct vs_des_stream *s = &des->streams.at[stream];
        progress(s, des->now);
        s->rate = vs_share_rate(share, stream);
        schedule(des, stream, ticks_to_serve(s->remaining + s->correction, s->rate));
    }
    for (size_t i = 0; i < share->switched.count; i++) {
        const struct vs_share_resource *r = &share->resources.at[share->switched.at[i]];
        struct vs_des_meter *m = &des->meters.at[share->switched.at[i]];
        meter(&m->busy_since, &m->busy, r->flow_count > 0, des->now);
        meter(&m->saturated_since, &m->saturated, r->binding, des->now);
    }
}

static void handle(struct vs_des *des, uint32_t stream) {
    const struct vs_des_stream *s = &des->streams.at[stream];
    if (s->state == VS_DES_LATENCY)
        serve(des, stream, &des->activities.at[s->head]);
    else
        finish(des, stream);
}

/* With thousands of streams an event would wait for memory several times in a row; with few, all is
 * near. */
enum { FAR_STREAMS = 64 };

static void prefetch_next(const struct vs_des *des) {
    if (des->heap.count < FAR_STREAMS)
        return;
    const struct vs_heap_key next = vs_heap_top(&des->heap);
    VS_PREFETCH(&des->streams.at[next.id]);
    vs_share_prefetch(&des->share, next.id);
    VS_PREFETCH(&des->activities.at[next.order]);
}

/* Later, once these have come, what they point to. */
static void prefetch_after(const struct vs_des *des) {
    if (des->heap.count < FAR_STREAMS)
        return;
    const uint32_t stream = vs_heap_top(&des->heap).id;
    const struct vs_des_stream *s = &des->streams.at[stream];
    if (s->next != VS_NONE)
        VS_PREFETCH(&des->activities.at[s->next]);
    if (s->state == VS_DES_SERVICE)
        vs_share_prefetch_resource(&des->share, stream);
}

/* All events of the next instant. False when an activity would end beyond time. */
static bool step(struct vs_des *des) {
    const vs_time now = vs_heap_top(&des->heap).time_ps;
    do {
        if (des->streams.at[vs_heap_top(&des->heap).id].late)
            return false;
        des->now = now;
        des->events++;
        const uint32_t stream = vs_heap_pop(&des->heap).id;
        prefetch_next(des);
        handle(des, stream);
        prefetch_after(des);
    } while (des->heap.count > 0 && vs_heap_top(&des->heap).time_ps == now);
    return true;
}

bool vs_des_run(struct vs_des *des, struct vs_err *err) {
    des->events = 0;
    for (size_t i = 0; i < des->streams.count; i++)
        start_if_ready(des, (uint32_t)i);
    settle(des);
    while (des->heap.count > 0) {
        if (!step(des))
            return vs_err_set(err, VS_ERR_INPUT, "simulated time passes %lld s (106 days)",
                              VS_TIME_MAX / VS_TIME_PER_S);
        settle(des);
    }
    return true;
}

vs_time vs_des_start(const struct vs_des *des, vs_activity activity) {
    return activity < des->activities.count ? des->activities.at[activity].start : -1;
}

vs_time vs_des_end(const struct vs_des *des, vs_activity activity) {
    return activity < des->activities.count ? des->activities.at[activity].end : -1;
}

vs_time vs_des_now(const struct vs_des *des) { return des->now; }

size_t vs_des_events(const struct vs_des *des) { return des->events; }

struct vs_usage vs_des_usage(const struct vs_des *des, vs_resource resource) {
    if (resource >= des->meters.count)
        return (struct vs_usage){0};
    const struct vs_des_meter *m = &des->meters.at[resource];
    return (struct vs_usage){.served = m->served, .busy = m->busy, .saturated = m->saturated};
}

vs_time vs_des_stream_busy(const struct vs_des *des, vs_stream stream) {
    return stream < des->streams.count ? des->streams.at[stream].busy : 0;
}
