/* Serves requests: they arrive, the scheduler says who runs in the next step, the event engine how
 * long it takes. Steps of decoding that come alike are taken together, at the mean of the first and
 * the last: their time is linear in the cells. */
#include <stdlib.h>

#include "base/rng.h"
#include "engine/engine.h"
#include "plan/requests.h"
#include "plan/startup.h"
#include "run/latency.h"
#include "run/simulate.h"
#include "run/step_time.h"
#include "sched/sched.h"

/* Where only clients are given: ten requests for each, as public benchmarks send them, so that the
 * opening burst is a tenth of all. */
enum { REQUESTS_PER_CLIENT = 10, REQUESTS_LEAST = 100 };

struct request {
    double arrived_s, first_s;
    uint64_t prompt, gen;
};

struct server {
    struct vs_simulation *s;
    struct vs_sched sched;
    struct vs_step_times times;
    struct request *requests; /* in the order of arrival, owned */
    size_t count;
    uint64_t groups; /* of ranks, that the requests are dealt to */
    bool closed;     /* a request arrives when another one has ended */
    double now_s;
    struct vs_latency latency;
    uint64_t made;
};

/* From the part `range` of `nominal` to all of it, evenly. */
static uint64_t draw(struct vs_rng *rng, uint64_t nominal, double range) {
    uint64_t least = (uint64_t)((double)nominal * range);
    least = least > 0 ? least : 1;
    return range < 1 ? least + vs_rng_below(rng, nominal - least + 1) : nominal;
}

static size_t request_count(const struct vs_values *axes) {
    size_t clients = (size_t)vs_count(axes, VS_AXIS_CONCURRENCY);
    if (vs_given(axes, VS_AXIS_REQUESTS))
        return (size_t)vs_count(axes, VS_AXIS_REQUESTS);
    return clients * REQUESTS_PER_CLIENT > REQUESTS_LEAST ? clients * REQUESTS_PER_CLIENT
                                                          : REQUESTS_LEAST;
}

static bool draw_requests(struct server *v, struct vs_err *err) {
    const struct vs_values *axes = &v->s->c->axes;
    bool poisson = vs_given(axes, VS_AXIS_RATE) && !vs_is(axes, VS_AXIS_RATE, "inf");
    double range = vs_given(axes, VS_AXIS_LENGTH_RANGE) ? vs_real(axes, VS_AXIS_LENGTH_RANGE) : 1;
    uint64_t seed = vs_given(axes, VS_AXIS_SEED) ? (uint64_t)vs_count(axes, VS_AXIS_SEED) : 1;
    double at_s = 0;
    v->count = request_count(axes);
    v->requests = calloc(v->count, sizeof *v->requests);
    struct vs_rng *rng = vs_rng_new(seed);
    for (size_t i = 0; v->requests && rng && i < v->count; i++) {
        v->requests[i].prompt = draw(rng, (uint64_t)vs_count(axes, VS_AXIS_PROMPT), range);
        v->requests[i].gen = draw(rng, (uint64_t)vs_count(axes, VS_AXIS_GEN), range);
        if (poisson)
            at_s += vs_rng_exponential(rng, 1 / vs_real(axes, VS_AXIS_RATE));
        v->requests[i].arrived_s = at_s;
    }
    bool ok = v->requests && rng;
    vs_rng_free(rng);
    return ok || vs_err_nomem(err);
}

static const char *policy_of(const struct vs_case *c) {
    const char *word = vs_engine_rule(c->engine, "schedule", "");
    if (vs_is(&c->axes, VS_AXIS_CHUNKED_PREFILL, "on"))
        return "chunked";
    if (vs_is(&c->axes, VS_AXIS_CHUNKED_PREFILL, "off") && vs_streq(word, "chunked"))
        return "whole";
    return word;
}

static bool open_server(struct server *v, struct vs_err *err) {
    const struct vs_case *c = v->s->c;
    struct vs_step_limits most = vs_step_limits(&v->s->plan);
    uint64_t groups = vs_plan_groups(&v->s->plan);
    const char *word = policy_of(c);
    const struct vs_policy *policy = vs_policy_find(word);
    const struct vs_sched_limits limits = {
        .step_tokens = most.tokens * groups,
        .sequences = most.sequences * groups,
        .block_tokens = v->s->plan.kv_block,
        .blocks = (uint64_t)v->s->out->metrics[VS_METRIC_KV_TOKENS] / v->s->plan.kv_block,
        .reserve = vs_streq(vs_engine_rule(c->engine, "admission", ""), "reserve"),
        .first_decoded = vs_streq(vs_engine_rule(c->engine, "first_token", "prefill"), "decode")};
    v->groups = groups;
    if (!policy)
        return vs_err_at(err, NULL, 0, 0, "engine '%s': no scheduler '%s', in rule 'schedule'",
                         c->engine->name, word);
    return draw_requests(v, err) &&
           (vs_sched_init(&v->sched, policy, &limits, v->count) || vs_err_nomem(err));
}

static void arrive(struct server *v) {
    struct request *r = &v->requests[v->sched.count];
    if (v->closed)
        r->arrived_s = v->now_s;
    vs_sched_arrive(&v->sched, r->prompt, r->gen);
}

/* Who has come by now. */
static void arrive_by_now(struct server *v) {
    while (!v->closed && v->sched.count < v->count &&
           v->requests[v->sched.count].arrived_s <= v->now_s)
        arrive(v);
}

/* The part of a step's prompts that the fullest group has: whole ones are dealt out. All groups go
 * on together, for they share experts. */
static double fullest(const struct server *v, uint64_t prompts) {
    uint64_t n = prompts > 0 ? prompts : 1;
    return (double)((n + v->groups - 1) / v->groups) / (double)n;
}

static bool step_time(struct server *v, const struct vs_sched_step *step, uint64_t later,
                      double *seconds, struct vs_err *err) {
    double decodes = (double)step->decodes / (double)v->groups;
    double prompts = fullest(v, step->prompts);
    const struct vs_step_load load = {
        .decodes = decodes,
        .cells = step->cells / (double)v->groups + (double)later * decodes,
        .prompts = prompts * (double)step->prompts,
        .prompt_tokens = prompts * (double)step->prompt_tokens,
        .pairs = prompts * step->pairs};
    return vs_step_time(&v->times, &load, seconds, err);
}

/* Runs the step as often as it comes alike and nobody arrives meanwhile. */
static bool run_step(struct server *v, const struct vs_sched_step *step, uint64_t *times,
                     struct vs_err *err) {
    double first, last, elapsed;
    *times = step->repeat;
    if (!step_time(v, step, 0, &first, err) || !step_time(v, step, *times - 1, &last, err))
        return false;
    elapsed = (double)*times * (first + last) / 2;
    if (!v->closed && v->sched.count < v->count) {
        double until = v->requests[v->sched.count].arrived_s - v->now_s;
        double slope = *times > 1 ? (last - first) / (double)(*times - 1) : 0;
        uint64_t low = 1, high = *times;
        while (low < high) {
            uint64_t k = low + (high - low) / 2;
            elapsed = (double)k * (first + slope * (double)(k - 1) / 2);
            if (elapsed >= until)
                high = k;
            else
                low = k + 1;
        }
        *times = low;
        elapsed = (double)low * (first + slope * (double)(low - 1) / 2);
    }
    v->now_s += elapsed;
    return true;
}

static bool note(struct server *v, struct vs_err *err) {
    bool ok = true;
    for (size_t i = 0; i < v->sched.first_count; i++)
        v->requests[v->sched.first[i]].first_s = v->now_s;
    for (size_t i = 0; ok && i < v->sched.ended_count; i++) {
        const struct request *r = &v->requests[v->sched.ended[i]];
        v->made += r->gen;
        ok = vs_latency_note(&v->latency, r->arrived_s, r->first_s, v->now_s, r->gen);
    }
    return ok || vs_err_nomem(err);
}

static bool serve(struct server *v, struct vs_err *err) {
    const struct vs_values *axes = &v->s->c->axes;
    size_t clients = v->count;
    v->closed = vs_given(axes, VS_AXIS_CONCURRENCY);
    if (v->closed && (size_t)vs_count(axes, VS_AXIS_CONCURRENCY) < clients)
        clients = (size_t)vs_count(axes, VS_AXIS_CONCURRENCY);
    for (size_t i = 0; v->closed && i < clients; i++)
        arrive(v);
    for (;;) {
        struct vs_sched_step step;
        uint64_t times;
        arrive_by_now(v);
        if (!vs_sched_next(&v->sched, &step)) {
            if (v->sched.head < v->sched.tail)
                return vs_err_at(err, NULL, 0, 0, "the KV pool of %llu blocks holds no request",
                                 (unsigned long long)v->sched.limits.blocks);
            if (v->sched.count == v->count)
                return true;
            v->now_s = v->requests[v->sched.count].arrived_s;
            continue;
        }
        if (!run_step(v, &step, &times, err))
            return false;
        vs_sched_done(&v->sched, times);
        if (!note(v, err))
            return false;
        for (size_t i = 0; v->closed && i < v->sched.ended_count && v->sched.count < v->count; i++)
            arrive(v);
    }
}

static void speeds(struct server *v) {
    double *metrics = v->s->out->metrics;
    double client_s = vs_engine_number(v->s->c->engine, "client_s", NULL, 0);
    metrics[VS_METRIC_OUT_TPS] = (double)v->made / (v->now_s - v->requests[0].arrived_s);
    vs_latency_metrics(&v->latency, client_s, metrics);
}

bool vs_drive_serve(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    const struct vs_values *axes = &s->c->axes;
    struct server v = {.s = s, .times = {.s = s, .phase = phase}};
    if (!vs_requests_given(axes) || s->options->capacity_only || s->x.out_of_memory)
        return true;
    struct vs_arena *record = s->x.record;
    s->x.record = NULL; /* a node of the grid is not a moment of the run */
    bool ok = open_server(&v, err) && serve(&v, err);
    if (ok)
        speeds(&v);
    s->x.record = record;
    vs_sched_release(&v.sched);
    vs_step_times_release(&v.times);
    vs_latency_release(&v.latency);
    free(v.requests);
    return ok;
}
