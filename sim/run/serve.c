/* Serves requests: they arrive, the scheduler says who runs in the next step, the event engine how
 * long it takes. Steps of decoding that come alike are taken together, at the mean of the first and
 * the last: their time is linear in the cells. */
#include <math.h>
#include <stdlib.h>

#include "engine/engine.h"
#include "plan/requests.h"
#include "plan/startup.h"
#include "run/arrivals.h"
#include "run/latency.h"
#include "run/serve_log.h"
#include "run/simulate.h"
#include "run/step_time.h"
#include "sched/sched.h"

/* Of a slot of the scheduler. */
struct client {
    double arrived_s, first_s, last_s; /* last_s: its newest token came */
    uint64_t id;
};

struct server {
    struct vs_simulation *s;
    struct vs_sched sched;
    struct vs_step_times times;
    struct vs_arrivals *arrivals;
    struct vs_trace_request next; /* the one that comes next, while `more` */
    bool more;
    uint32_t groups;       /* of ranks, that the requests are dealt to */
    bool closed;           /* a request is sent when another one has ended */
    VS_VEC(double) free_s; /* closed: when clients became free, in this order */
    size_t sent;           /* closed: of those, who have sent their next request */
    double taken_s;        /* when the server took in its last request */
    double intake_s; /* its host's time for each: those that come at once follow one another */
    VS_VEC(struct client) clients;
    double start_s, now_s;
    struct vs_latency latency;
    struct vs_serve_log log;
    struct vs_request_counts counts;
    uint64_t made;
    uint64_t longest; /* prompt and output */
    double before_s;  /* simulated before the first request */
};

static const char *policy_of(const struct vs_case *c, bool cut) {
    const char *word = vs_engine_rule(c->engine, "schedule", "");
    if (vs_given(&c->axes, VS_AXIS_SCHEDULE))
        return c->axes.at[VS_AXIS_SCHEDULE].text;
    if (cut)
        return "chunked";
    if (vs_is(&c->axes, VS_AXIS_CHUNKED_PREFILL, "off") && vs_streq(word, "chunked"))
        return "whole";
    return word;
}

static enum vs_reserve reserve_of(const struct vs_case *c) {
    if (vs_is(&c->axes, VS_AXIS_KV_ALLOC, "contiguous"))
        return VS_RESERVE_CONTEXT;
    const char *rule = vs_engine_rule(c->engine, "admission", "");
    return vs_streq(rule, "reserve")  ? VS_RESERVE_REQUEST
           : vs_streq(rule, "prompt") ? VS_RESERVE_PROMPT
                                      : VS_RESERVE_NOTHING;
}

/* A block has a part on each of equal ranks, and of all devices of a pipeline. */
static uint64_t host_blocks(const struct vs_plan *plan) {
    uint64_t block = 0;
    for (unsigned d = 0; d < vs_devices_written(plan); d++)
        block += vs_kv_block_bytes(plan, d) * plan->ranks;
    return block > 0 ? vs_kv_host_bytes(plan) / block : 0;
}

static bool open_scheduler(struct server *v, struct vs_err *err) {
    const struct vs_case *c = v->s->c;
    const struct vs_trace *trace = vs_arrivals_trace(v->arrivals);
    struct vs_step_limits most = vs_step_limits(&v->s->plan);
    const char *word = policy_of(c, most.cut);
    const struct vs_policy *policy = vs_policy_find(word);
    uint64_t block = v->s->plan.kv_block;
    struct vs_paged paged = vs_kv_paged(&v->s->plan);
    v->groups = vs_plan_groups(&v->s->plan);
    uint64_t blocks = (uint64_t)v->s->out->metrics[VS_METRIC_KV_TOKENS] / block;
    const struct vs_sched_limits limits = {
        .step_tokens = most.tokens,
        .sequences = most.sequences,
        .groups = v->groups,
        .block_tokens = block,
        .blocks = blocks,
        .sequence_blocks = vs_state_blocks(&v->s->plan),
        .window_blocks = paged.window_blocks,
        .window_part = paged.window_part,
        .reserve = reserve_of(c),
        .context = (uint64_t)vs_count(&c->axes, VS_AXIS_CTX),
        .watermark =
            (uint64_t)(vs_engine_number(c->engine, "kv_watermark", NULL, 0) * (double)blocks),
        .first_decoded = vs_streq(vs_engine_rule(c->engine, "first_token", "prefill"), "decode"),
        .swap = vs_is(&c->axes, VS_AXIS_PREEMPT, "swap"),
        .host_blocks = host_blocks(&v->s->plan),
        .prefix = vs_is(&c->axes, VS_AXIS_PREFIX_CACHE, "on"),
        .hash_tokens = trace ? vs_trace_hash_tokens(trace) : 0};
    if (!policy)
        return vs_err_at(err, NULL, 0, 0, "engine '%s': no scheduler '%s', in rule 'schedule'",
                         c->engine->name, word);
    vs_sched_init(&v->sched, policy, &limits);
    return true;
}

/* Each sends its next request now. */
static bool free_clients(struct server *v, uint64_t count, struct vs_err *err) {
    for (uint64_t i = 0; i < count; i++)
        if (!vs_vec_push(&v->free_s, v->now_s))
            return vs_err_nomem(err);
    return true;
}

static bool any_comes(const struct server *v) {
    return v->more && (!v->closed || v->sent < v->free_s.count);
}

static double sent_s(const struct server *v) {
    return v->closed ? v->free_s.at[v->sent] : v->next.arrived_s;
}

/* When the scheduler sees the next request. */
static double comes_s(const struct server *v) {
    double after_s = v->taken_s + v->intake_s, from_s = sent_s(v);
    return from_s > after_s ? from_s : after_s;
}

static bool open_server(struct server *v, struct vs_err *err) {
    struct vs_arena *arena = v->s->plan.arena;
    const struct vs_values *axes = &v->s->c->axes;
    const struct vs_serve_options *options = v->s->options->serve;
    v->arrivals = vs_arrivals_open(arena, axes, options && options->skip_bad, err);
    if (!v->arrivals || !open_scheduler(v, err) ||
        !vs_serve_log_open(&v->log, options, v->s->out->metrics[VS_METRIC_KV_TOKENS], err) ||
        !vs_arrivals_next(v->arrivals, &v->next, &v->more, err))
        return false;
    v->log.recording = v->s->options->timeline;
    v->longest = (uint64_t)vs_count(axes, VS_AXIS_CTX);
    v->closed = vs_given(axes, VS_AXIS_CONCURRENCY);
    if (!free_clients(v, v->closed ? (uint64_t)vs_count(axes, VS_AXIS_CONCURRENCY) : 0, err))
        return false;
    v->intake_s = vs_engine_number(v->s->c->engine, "intake_s", NULL, 0);
    v->taken_s = -v->intake_s;
    v->start_s = v->now_s = v->more && !v->closed ? v->next.arrived_s : 0;
    v->latency.client_s = vs_engine_number(v->s->c->engine, "client_s", NULL, 0);
    v->latency.slo_first_s = options ? options->slo_ttft_s : 0;
    v->latency.slo_token_s = options ? options->slo_tpot_s : 0;
    return true;
}

/* The next request joins the queue, or is turned away: it is longer than the context, or than the
 * pool. */
static bool arrive(struct server *v, struct vs_err *err) {
    const struct vs_sched_arrival arrival = {v->next.prompt, v->next.gen, v->next.hashes,
                                             v->next.hash_count};
    struct client client = {.arrived_s = sent_s(v), .id = v->counts.arrived++};
    uint32_t slot;
    v->taken_s = comes_s(v);
    if (v->next.prompt + v->next.gen > v->longest ||
        !vs_sched_fits(&v->sched, v->next.prompt, v->next.gen)) {
        v->counts.rejected++;
    } else {
        if (!vs_sched_arrive(&v->sched, &arrival, &slot))
            return vs_err_nomem(err);
        while (v->clients.count <= slot)
            if (!vs_vec_push(&v->clients, client))
                return vs_err_nomem(err);
        v->clients.at[slot] = client;
        v->sent += v->closed;
    }
    return vs_arrivals_next(v->arrivals, &v->next, &v->more, err);
}

static bool arrive_by_now(struct server *v, struct vs_err *err) {
    while (any_comes(v) && comes_s(v) <= v->now_s)
        if (!arrive(v, err))
            return false;
    return true;
}

/* All groups go on together, for they share experts: the step is the one of the group with the most
 * prompt tokens, whose experts see those of the others too. */
static bool step_time(struct server *v, const struct vs_sched_step *step, uint64_t later,
                      struct vs_step_estimate *estimate, struct vs_err *err) {
    const struct vs_sched_prompts *fullest = &step->fullest;
    double groups = v->groups, decodes = (double)step->decodes / groups;
    const struct vs_step_load load = {.decodes = decodes,
                                      .cells = step->cells / groups + (double)later * decodes,
                                      .prompts = (double)fullest->ending,
                                      .prompt_tokens = (double)fullest->tokens,
                                      .pairs = fullest->pairs,
                                      .other_tokens =
                                          (double)(step->prompts.tokens - fullest->tokens)};
    return vs_step_time(&v->times, &load, estimate, err);
}

/* Copies between device and host: what a step needs comes before it, and room is made before that;
 * what is only stored goes while it runs. */
static bool copy_times(struct server *v, const struct vs_sched_step *step, double *before_s,
                       double *beside_s, struct vs_err *err) {
    const struct {
        uint64_t blocks;
        bool to_host;
        double *seconds;
    } copies[] = {{step->blocks_out, true, before_s},
                  {step->blocks_in, false, before_s},
                  {step->blocks_stored, true, beside_s}};
    struct vs_step_estimate e;
    *before_s = *beside_s = 0;
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (!vs_copy_time(&v->times, copies[i].blocks, copies[i].to_host, &e, err))
            return false;
        vs_step_count(&v->times, &e, 1);
        *copies[i].seconds += e.seconds;
    }
    return true;
}

/* How often the step runs before the next request comes, and the time of that. */
static double repeat_until(const struct server *v, double first_s, double last_s, uint64_t *times) {
    double slope = *times > 1 ? (last_s - first_s) / (double)(*times - 1) : 0;
    double elapsed_s = (double)*times * (first_s + last_s) / 2;
    if (!any_comes(v))
        return elapsed_s;
    double until_s = comes_s(v) - v->now_s;
    uint64_t low = 1, high = *times;
    while (low < high) {
        uint64_t k = low + (high - low) / 2;
        elapsed_s = (double)k * (first_s + slope * (double)(k - 1) / 2);
        if (elapsed_s >= until_s)
            high = k;
        else
            low = k + 1;
    }
    *times = low;
    return (double)low * (first_s + slope * (double)(low - 1) / 2);
}

/* Tokens outside of windows have no whole cell. */
static struct vs_serve_state state_of(const struct server *v) {
    const struct vs_sched *s = &v->sched;
    double block = (double)s->limits.block_tokens;
    double for_tokens = (double)(s->own_blocks - s->running * s->limits.sequence_blocks) * block;
    double wasted = for_tokens - (double)s->own_tokens;
    return (struct vs_serve_state){.running = (double)s->running,
                                   .waiting = (double)s->waiting,
                                   .used_tokens = (double)vs_sched_used_blocks(s) * block,
                                   .wasted_tokens = wasted > 0 ? wasted : 0};
}

/* Runs the step as often as it comes alike and nobody arrives meanwhile. */
static bool run_step(struct server *v, const struct vs_sched_step *step, double *elapsed_s,
                     uint64_t *times, struct vs_err *err) {
    struct vs_step_estimate first, last;
    double before_s, beside_s;
    *times = step->repeat;
    if (!step_time(v, step, 0, &first, err) || !step_time(v, step, *times - 1, &last, err) ||
        !copy_times(v, step, &before_s, &beside_s, err))
        return false;
    *elapsed_s = repeat_until(v, first.seconds, last.seconds, times);
    if (*times < step->repeat && !step_time(v, step, *times - 1, &last, err))
        return false;
    vs_step_count(&v->times, &first, (double)*times / 2);
    vs_step_count(&v->times, &last, (double)*times / 2);
    *elapsed_s = before_s + (*elapsed_s > beside_s ? *elapsed_s : beside_s);
    return true;
}

static bool note_served(struct server *v, struct vs_err *err) {
    for (size_t i = 0; i < v->sched.first_count; i++)
        v->clients.at[v->sched.first[i]].first_s = v->now_s;
    for (size_t i = 0; i < v->sched.ended_count; i++) {
        uint32_t slot = v->sched.ended[i];
        const struct client *c = &v->clients.at[slot];
        const struct vs_sched_request *r = &v->sched.requests[slot];
        const struct vs_served served = {c->arrived_s, c->first_s, v->now_s, r->gen};
        v->made += r->gen;
        v->counts.served++;
        if (!vs_latency_note(&v->latency, &served))
            return vs_err_nomem(err);
        if (!vs_serve_log_request(&v->log, v->start_s, &v->latency, &served, c->id, r->prompt, err))
            return false;
    }
    return free_clients(v, v->closed ? v->sched.ended_count : 0, err);
}

/* Does the step that was taken in end with a token of this one? */
static bool makes_token(const struct server *v, const struct vs_sched_request *r) {
    bool filled = r->chunk > 0 && r->cached + r->chunk == r->fill;
    return !r->pads && (r->decodes || (filled && !v->sched.limits.first_decoded));
}

/* Tokens of `times` like steps from now on. Most of those who get one had the one before at the
 * same moment. */
static bool note_tokens(struct server *v, double elapsed_s, uint64_t times, struct vs_err *err) {
    double each_s = elapsed_s / (double)times, before_s = 0;
    uint64_t same = 0, all = 0;
    bool ok = true;
    for (size_t i = 0; i < v->sched.running && ok; i++) {
        const struct vs_sched_request *r = &v->sched.requests[v->sched.batch[i]];
        struct client *c = &v->clients.at[v->sched.batch[i]];
        if (!makes_token(v, r))
            continue;
        if (r->made > 0 && same > 0 && (c->last_s < before_s || c->last_s > before_s)) {
            ok = vs_latency_gap(&v->latency, v->now_s + each_s - before_s, same);
            same = 0;
        }
        if (r->made > 0) {
            before_s = c->last_s;
            same++;
        }
        all++;
        c->last_s = v->now_s + elapsed_s;
    }
    ok = ok && (same == 0 || vs_latency_gap(&v->latency, v->now_s + each_s - before_s, same)) &&
         (times == 1 || vs_latency_gap(&v->latency, each_s, (times - 1) * all));
    return ok || vs_err_nomem(err);
}

static bool take_step(struct server *v, const struct vs_sched_step *step, struct vs_err *err) {
    struct vs_serve_span span = {.from_s = v->now_s - v->start_s, .from = state_of(v)};
    double elapsed_s;
    uint64_t times;
    if (!run_step(v, step, &elapsed_s, &times, err) || !note_tokens(v, elapsed_s, times, err))
        return false;
    v->now_s += elapsed_s;
    vs_sched_done(&v->sched, times);
    span.to_s = v->now_s - v->start_s;
    span.to = state_of(v);
    span.prompt_tokens = (double)step->prompts.tokens;
    span.decoded_tokens = (double)(step->decodes * times);
    span.made_tokens = span.decoded_tokens + (double)step->prompts.ending;
    span.preemptions = v->sched.thrown_back;
    span.steps = times;
    return vs_serve_log_span(&v->log, &span, err) && note_served(v, err);
}

/* Nothing runs until the next request comes. */
static bool idle(struct server *v, struct vs_err *err) {
    struct vs_serve_span span = {.from_s = v->now_s - v->start_s,
                                 .to_s = comes_s(v) - v->start_s,
                                 .from = state_of(v),
                                 .to = state_of(v),
                                 .preemptions = v->sched.thrown_back};
    v->now_s = comes_s(v);
    return vs_serve_log_span(&v->log, &span, err);
}

static bool serve(struct server *v, struct vs_err *err) {
    for (;;) {
        struct vs_sched_step step;
        if (!arrive_by_now(v, err))
            return false;
        bool runs = vs_sched_next(&v->sched, &step);
        if (v->sched.failed)
            return vs_err_nomem(err);
        if (!runs && v->sched.waiting > 0)
            return vs_err_at(err, NULL, 0, 0, "the KV pool of %llu blocks holds no request",
                             (unsigned long long)v->sched.limits.blocks);
        if (!runs && !any_comes(v))
            return true;
        if (!(runs ? take_step(v, &step, err) : idle(v, err)))
            return false;
    }
}

static bool conclude(struct server *v, struct vs_err *err) {
    struct vs_arena *arena = v->s->plan.arena;
    struct vs_outcome *out = v->s->out;
    const struct vs_sched *s = &v->sched;
    double makespan_s = v->now_s - v->start_s;
    struct vs_request_counts *counts = VS_NEW(arena, struct vs_request_counts);
    if (!counts)
        return vs_err_nomem(err);
    if (v->counts.served > 0)
        out->metrics[VS_METRIC_OUT_TPS] = (double)v->made / makespan_s;
    vs_latency_metrics(&v->latency, makespan_s, out->metrics);
    vs_serve_log_metrics(&v->log, out->metrics);
    if (s->prefix_tokens > 0 && s->limits.prefix)
        out->metrics[VS_METRIC_PREFIX_HIT] = (double)s->prefix_hits / (double)s->prefix_tokens;
    out->metrics[VS_METRIC_PREFIX_SEEN] = vs_arrivals_seen(v->arrivals);
    *counts = v->counts;
    counts->preempted = s->thrown_back;
    if (!vs_arrivals_count(v->arrivals, arena, counts))
        return vs_err_nomem(err);
    out->requests = counts;
    if (v->log.recording)
        out->replayed = vs_serve_record_keep(&v->log.record, v->before_s, arena);
    if (v->log.recording && !out->replayed)
        return vs_err_nomem(err);
    vs_step_uses(&v->times);
    v->s->main_s = makespan_s;
    return vs_serve_log_commit(&v->log, err);
}

bool vs_drive_serve(struct vs_simulation *s, struct vs_phase *phase, struct vs_err *err) {
    const struct vs_values *axes = &s->c->axes;
    struct server v = {.s = s, .times = {.s = s, .phase = phase}};
    if (!vs_requests_given(axes) || s->options->capacity_only || s->x.out_of_memory)
        return true;
    struct vs_arena *record_in = s->x.record;
    v.before_s = s->x.time_s;
    s->x.record = NULL; /* a node of the grid is not a moment of the run */
    bool ok = open_server(&v, err) && serve(&v, err) && conclude(&v, err);
    s->x.record = record_in;
    s->x.time_s = v.before_s + v.now_s - v.start_s;
    vs_serve_log_release(&v.log);
    vs_latency_release(&v.latency);
    vs_sched_release(&v.sched);
    vs_step_times_release(&v.times);
    vs_arrivals_close(v.arrivals);
    vs_vec_release(&v.clients);
    vs_vec_release(&v.free_s);
    return ok;
}
