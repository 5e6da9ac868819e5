#include "run/serve_record.h"

#include <math.h>
#include <string.h>

/* More than a picture shows or a viewer takes with ease. */
enum { REQUESTS_MOST = 100000, STRETCHES_MOST = 16384, MOMENTS = 300 };

/* Half of the requests that were kept, evenly. */
static void thin(struct vs_serve_record *r) {
    size_t kept = 0;
    for (size_t i = 0; i < r->requests.count; i += 2)
        r->requests.at[kept++] = r->requests.at[i];
    r->requests.count = kept;
    r->each *= 2;
}

bool vs_serve_record_request(struct vs_serve_record *r, const struct vs_replayed_request *request) {
    r->each = r->each > 0 ? r->each : 1;
    if (r->met++ % r->each != 0)
        return true;
    if (!vs_vec_push(&r->requests, *request))
        return false;
    if (r->requests.count == REQUESTS_MOST)
        thin(r);
    return true;
}

static double length(const struct vs_server_stretch *s) { return s->to_s - s->from_s; }

static void join(struct vs_server_stretch *a, const struct vs_server_stretch *b) {
    double all = length(a) + length(b), part = all > 0 ? length(b) / all : 0;
    a->running += part * (b->running - a->running);
    a->waiting += part * (b->waiting - a->waiting);
    a->to_s = b->to_s;
    a->kv_to = b->kv_to;
    a->prompt_tokens += b->prompt_tokens;
    a->out_tokens += b->out_tokens;
    a->decoded += b->decoded;
    a->steps += b->steps;
}

/* Joins neighbours that are both short: of any two that are left, one is not. So at 8 times the
 * mean length no more than a quarter are left. */
static void coarsen(struct vs_serve_record *r) {
    struct vs_server_stretch *list = r->stretches.at;
    size_t kept = 0;
    r->resolution_s =
        fmax(2 * r->resolution_s,
             8 * (list[r->stretches.count - 1].to_s - list[0].from_s) / (double)r->stretches.count);
    for (size_t i = 1; i < r->stretches.count; i++) {
        if (length(&list[kept]) < r->resolution_s && length(&list[i]) < r->resolution_s)
            join(&list[kept], &list[i]);
        else
            list[++kept] = list[i];
    }
    r->stretches.count = kept + 1;
}

bool vs_serve_record_stretch(struct vs_serve_record *r, const struct vs_server_stretch *stretch) {
    if (!vs_vec_push(&r->stretches, *stretch))
        return false;
    if (r->stretches.count == STRETCHES_MOST)
        coarsen(r);
    return true;
}

/* A server in an interval: means over it. `at` is the stretch in which it begins, and then the one
 * in which it ends. */
static struct vs_replayed_moment moment_of(const struct vs_serve_record *r, double from_s,
                                           double to_s, size_t *at) {
    struct vs_replayed_moment m = {.at_s = from_s};
    for (size_t i = *at; i < r->stretches.count && r->stretches.at[i].from_s < to_s; i++) {
        const struct vs_server_stretch *s = &r->stretches.at[i];
        double begin_s = fmax(from_s, s->from_s), end_s = fmin(to_s, s->to_s);
        double part = (end_s - begin_s) / (to_s - from_s), all_s = length(s);
        *at = i;
        if (!(end_s > begin_s))
            continue;
        double middle = ((begin_s + end_s) / 2 - s->from_s) / all_s;
        m.running += part * s->running;
        m.waiting += part * s->waiting;
        m.kv_percent += part * (s->kv_from + middle * (s->kv_to - s->kv_from));
        m.prompt_tps += part * s->prompt_tokens / all_s;
        m.out_tps += part * s->out_tokens / all_s;
    }
    return m;
}

static size_t make_moments(const struct vs_serve_record *r, struct vs_replayed_moment *moments) {
    size_t at = 0;
    if (r->stretches.count == 0)
        return 0;
    double first_s = r->stretches.at[0].from_s;
    double every_s = (r->stretches.at[r->stretches.count - 1].to_s - first_s) / MOMENTS;
    if (!(every_s > 0))
        return 0;
    for (int i = 0; i < MOMENTS; i++)
        moments[i] = moment_of(r, first_s + i * every_s, first_s + (i + 1) * every_s, &at);
    return MOMENTS;
}

static void *copy(struct vs_arena *arena, const void *at, size_t count, size_t size) {
    void *list = vs_arena_alloc(arena, count + 1, size);
    if (list && count > 0)
        memcpy(list, at, count * size);
    return list;
}

const struct vs_replayed *vs_serve_record_keep(const struct vs_serve_record *r, double start_s,
                                               struct vs_arena *arena) {
    struct vs_replayed *out = VS_NEW(arena, struct vs_replayed);
    struct vs_replayed_moment *moments = VS_NEW_ARRAY(arena, struct vs_replayed_moment, MOMENTS);
    if (!out || !moments)
        return NULL;
    *out = (struct vs_replayed){
        .requests = copy(arena, r->requests.at, r->requests.count, sizeof *r->requests.at),
        .request_count = r->requests.count,
        .requests_each = r->each,
        .moments = moments,
        .moment_count = make_moments(r, moments),
        .stretches = copy(arena, r->stretches.at, r->stretches.count, sizeof *r->stretches.at),
        .stretch_count = r->stretches.count,
        .start_s = start_s,
        .resolution_s = r->resolution_s};
    return out->requests && out->stretches ? out : NULL;
}

void vs_serve_record_release(struct vs_serve_record *r) {
    vs_vec_release(&r->requests);
    vs_vec_release(&r->stretches);
    *r = (struct vs_serve_record){.each = 0};
}
