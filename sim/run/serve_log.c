#include "run/serve_log.h"

#include <math.h>

#include "base/units.h"

static const double EVERY_S = 1; /* unless asked otherwise */

static bool put_line(struct vs_file_out *out, struct vs_text *line, struct vs_err *err) {
    if (line->failed)
        return vs_err_nomem(err);
    bool done = vs_file_put(out, vs_text_str(line), line->length, err);
    line->length = 0;
    return done;
}

static bool begin(struct vs_serve_log *log, const char *path, const char *header,
                  struct vs_file_out **out, struct vs_err *err) {
    if (!path)
        return true;
    *out = vs_file_begin(path, err);
    if (!*out)
        return false;
    vs_text_add(&log->line, header);
    return put_line(*out, &log->line, err);
}

bool vs_serve_log_open(struct vs_serve_log *log, const struct vs_serve_options *options,
                       double pool_tokens, struct vs_err *err) {
    *log = (struct vs_serve_log){.pool_tokens = pool_tokens, .every_s = EVERY_S};
    if (!options)
        return true;
    if (options->every_s > 0)
        log->every_s = options->every_s;
    log->next_s = log->every_s;
    return begin(log, options->requests_csv, "request,arrived_s,prompt,gen,ttft_s,tpot_s,e2e_s\n",
                 &log->requests, err) &&
           begin(log, options->series_csv,
                 "t_s,running,waiting,kv_pct,kv_waste_pct,prompt_tps,out_tps,preemptions\n",
                 &log->series, err);
}

/* A number as a field; none is empty. */
static void put_number(struct vs_text *line, double number, const char *end) {
    char text[VS_UNIT_TEXT];
    if (!isnan(number))
        vs_text_add(line, vs_print_g9(text, number));
    vs_text_add(line, end);
}

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

static double between(double from, double to, double part) { return from + part * (to - from); }

/* A row at each moment of the span that ends an interval. */
static bool put_rows(struct vs_serve_log *log, const struct vs_serve_span *s, struct vs_err *err) {
    double told = 0, length = s->to_s - s->from_s;
    while (log->next_s <= s->to_s) {
        double part = share(log->next_s - s->from_s, length);
        double used = between(s->from.used_tokens, s->to.used_tokens, part);
        double wasted = between(s->from.wasted_tokens, s->to.wasted_tokens, part);
        log->prompt_tokens += (part - told) * s->prompt_tokens;
        log->made_tokens += (part - told) * s->made_tokens;
        told = part;
        put_number(&log->line, log->next_s, ",");
        put_number(&log->line, s->from.running, ",");
        put_number(&log->line, s->from.waiting, ",");
        put_number(&log->line, 100 * share(used, log->pool_tokens), ",");
        put_number(&log->line, 100 * share(wasted, used), ",");
        put_number(&log->line, log->prompt_tokens / log->every_s, ",");
        put_number(&log->line, log->made_tokens / log->every_s, ",");
        put_number(&log->line, (double)s->preemptions, "\n");
        if (!put_line(log->series, &log->line, err))
            return false;
        log->prompt_tokens = log->made_tokens = 0;
        log->next_s += log->every_s;
    }
    log->prompt_tokens += (1 - told) * s->prompt_tokens;
    log->made_tokens += (1 - told) * s->made_tokens;
    return true;
}

bool vs_serve_log_span(struct vs_serve_log *log, const struct vs_serve_span *s,
                       struct vs_err *err) {
    double length = s->to_s - s->from_s;
    log->seconds += length;
    log->running_s += length * s->from.running;
    log->waiting_s += length * s->from.waiting;
    log->used_s += length * (s->from.used_tokens + s->to.used_tokens) / 2;
    log->wasted_s += length * (s->from.wasted_tokens + s->to.wasted_tokens) / 2;
    const struct vs_server_stretch stretch = {
        .from_s = s->from_s,
        .to_s = s->to_s,
        .running = s->from.running,
        .waiting = s->from.waiting,
        .kv_from = 100 * share(s->from.used_tokens, log->pool_tokens),
        .kv_to = 100 * share(s->to.used_tokens, log->pool_tokens),
        .prompt_tokens = s->prompt_tokens,
        .out_tokens = s->made_tokens,
        .decoded = s->decoded_tokens,
        .steps = s->steps};
    if (log->recording && !vs_serve_record_stretch(&log->record, &stretch))
        return vs_err_nomem(err);
    return !log->series || put_rows(log, s, err);
}

bool vs_serve_log_request(struct vs_serve_log *log, double start_s,
                          const struct vs_latency *latency, const struct vs_served *served,
                          uint64_t id, uint64_t prompt, struct vs_err *err) {
    const struct vs_replayed_request request = {
        served->arrived_s - start_s, (double)prompt,
        (double)served->gen,         vs_latency_first(latency, served),
        vs_latency_token(served),    vs_latency_whole(latency, served)};
    if (log->recording && !vs_serve_record_request(&log->record, &request))
        return vs_err_nomem(err);
    if (!log->requests)
        return true;
    vs_text_printf(&log->line, "%llu,", (unsigned long long)id);
    put_number(&log->line, request.arrived_s, ",");
    put_number(&log->line, request.prompt, ",");
    put_number(&log->line, request.gen, ",");
    put_number(&log->line, request.ttft_s, ",");
    put_number(&log->line, request.tpot_s, ",");
    put_number(&log->line, request.e2e_s, "\n");
    return put_line(log->requests, &log->line, err);
}

static bool commit(struct vs_file_out **out, struct vs_err *err) {
    struct vs_file_out *file = *out;
    *out = NULL;
    return !file || vs_file_commit(file, err);
}

bool vs_serve_log_commit(struct vs_serve_log *log, struct vs_err *err) {
    return commit(&log->requests, err) && commit(&log->series, err);
}

void vs_serve_log_release(struct vs_serve_log *log) {
    vs_file_abandon(log->requests);
    vs_file_abandon(log->series);
    vs_serve_record_release(&log->record);
    vs_text_release(&log->line);
    *log = (struct vs_serve_log){.requests = NULL};
}

void vs_serve_log_metrics(const struct vs_serve_log *log, double metrics[VS_METRIC_COUNT]) {
    if (!(log->seconds > 0))
        return;
    metrics[VS_METRIC_RUNNING_MEAN] = log->running_s / log->seconds;
    metrics[VS_METRIC_WAITING_MEAN] = log->waiting_s / log->seconds;
    metrics[VS_METRIC_KV_USE] = log->used_s / log->seconds / log->pool_tokens;
    metrics[VS_METRIC_KV_WASTE] = share(log->wasted_s, log->used_s);
}
