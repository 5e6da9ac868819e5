#include <pthread.h>
#include <stdlib.h>

#include "probe.h"

/* Holds all threads of a team back until each exists, or sends them home. */
enum gate_state { GATE_SHUT, GATE_OPEN, GATE_CANCELLED };
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    enum gate_state state;
};

struct member {
    pthread_t thread;
    struct gate *gate;
    team_task task;
    void *context;
    unsigned part, parts;
    double first_s, last_s;
};

static enum gate_state pass(struct gate *gate) {
    (void)pthread_mutex_lock(&gate->mutex);
    while (gate->state == GATE_SHUT)
        (void)pthread_cond_wait(&gate->changed, &gate->mutex);
    enum gate_state state = gate->state;
    (void)pthread_mutex_unlock(&gate->mutex);
    return state;
}

static void set(struct gate *gate, enum gate_state state) {
    (void)pthread_mutex_lock(&gate->mutex);
    gate->state = state;
    (void)pthread_cond_broadcast(&gate->changed);
    (void)pthread_mutex_unlock(&gate->mutex);
}

static void *work(void *argument) {
    struct member *member = argument;
    if (pass(member->gate) == GATE_CANCELLED)
        return NULL;
    member->first_s = now_s();
    member->task(member->context, member->part, member->parts);
    member->last_s = now_s();
    return NULL;
}

static double span(const struct member *members, unsigned parts) {
    double first = members[0].first_s, last = members[0].last_s;
    for (unsigned i = 1; i < parts; i++) {
        first = members[i].first_s < first ? members[i].first_s : first;
        last = members[i].last_s > last ? members[i].last_s : last;
    }
    return last - first;
}

/* The caller is part 0. */
double team_run(unsigned parts, team_task task, void *context) {
    struct member *members = calloc(parts, sizeof *members);
    struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, GATE_SHUT};
    unsigned started = 1;
    if (!members)
        return -1;
    for (unsigned i = 0; i < parts; i++)
        members[i] = (struct member){
            .gate = &gate, .task = task, .context = context, .part = i, .parts = parts};
    while (started < parts &&
           pthread_create(&members[started].thread, NULL, work, &members[started]) == 0)
        started++;
    set(&gate, started == parts ? GATE_OPEN : GATE_CANCELLED);
    (void)work(&members[0]);
    for (unsigned i = 1; i < started; i++)
        (void)pthread_join(members[i].thread, NULL);
    double seconds = started == parts ? span(members, parts) : -1;
    free(members);
    return seconds;
}

size_t team_share(size_t count, unsigned part, unsigned parts, size_t *first) {
    size_t more = count % parts;
    *first = count / parts * part + (part < more ? part : more);
    return count / parts + (part < more);
}

size_t team_sizes(unsigned most, unsigned sizes[32]) {
    size_t count = 0;
    for (unsigned n = 1; n < most && count < 31; n *= 2)
        sizes[count++] = n;
    sizes[count++] = most;
    return count;
}
