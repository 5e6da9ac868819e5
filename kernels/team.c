/* The threads are made once and stay: one that does not exist yet when its work begins would count
 * as slow. Between two works they spin a little, as the threads of engines do, and then sleep. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe.h"

enum { MEMBERS_MOST = 1024, SPINS = 2000 };

struct member {
    pthread_t thread;
    unsigned part, seen; /* the round that was last when it was made */
    double first_s, last_s;
};

static struct {
    pthread_mutex_t one; /* at a time */
    pthread_mutex_t mutex;
    pthread_cond_t begun;
    atomic_uint round, left;
    team_task task;
    void *context;
    unsigned parts;
    struct member *members[MEMBERS_MOST]; /* 1 to count - 1; 0 is the caller's */
    unsigned count;
} team = {.one = PTHREAD_MUTEX_INITIALIZER,
          .mutex = PTHREAD_MUTEX_INITIALIZER,
          .begun = PTHREAD_COND_INITIALIZER};

static void do_part(struct member *m) {
    m->first_s = now_s();
    team.task(team.context, m->part, team.parts);
    m->last_s = now_s();
}

/* Until there is another round than `seen`; returns it. */
static unsigned wait_for_round(unsigned seen) {
    for (int i = 0; i < SPINS; i++) {
        unsigned round = atomic_load(&team.round);
        if (round != seen)
            return round;
        (void)sched_yield();
    }
    (void)pthread_mutex_lock(&team.mutex);
    while (atomic_load(&team.round) == seen)
        (void)pthread_cond_wait(&team.begun, &team.mutex);
    (void)pthread_mutex_unlock(&team.mutex);
    return atomic_load(&team.round);
}

static void *work(void *argument) {
    struct member *m = argument;
    unsigned seen = m->seen;
    for (;;) {
        seen = wait_for_round(seen);
        if (m->part < team.parts)
            do_part(m);
        (void)atomic_fetch_sub(&team.left, 1);
    }
    return NULL;
}

static bool add_member(void) {
    struct member *m = calloc(1, sizeof *m);
    if (!m)
        return false;
    m->part = team.count;
    m->seen = atomic_load(&team.round);
    if (pthread_create(&m->thread, NULL, work, m) != 0) {
        free(m);
        return false;
    }
    (void)pthread_detach(m->thread);
    team.members[team.count++] = m;
    return true;
}

static bool grow(unsigned parts) {
    static struct member caller;
    team.members[0] = &caller;
    team.count = team.count > 0 ? team.count : 1;
    while (team.count < parts)
        if (team.count == MEMBERS_MOST || !add_member())
            return false;
    return true;
}

static void begin_round(void) {
    (void)pthread_mutex_lock(&team.mutex);
    (void)atomic_fetch_add(&team.round, 1);
    (void)pthread_cond_broadcast(&team.begun);
    (void)pthread_mutex_unlock(&team.mutex);
}

static double span(unsigned parts) {
    double first = team.members[0]->first_s, last = team.members[0]->last_s;
    for (unsigned i = 1; i < parts; i++) {
        const struct member *m = team.members[i];
        first = m->first_s < first ? m->first_s : first;
        last = m->last_s > last ? m->last_s : last;
    }
    return last - first;
}

/* The caller is part 0. */
double team_run(unsigned parts, team_task task, void *context) {
    double seconds = -1;
    (void)pthread_mutex_lock(&team.one);
    if (grow(parts)) {
        team.task = task;
        team.context = context;
        team.parts = parts;
        atomic_store(&team.left, parts > 1 ? team.count - 1 : 0);
        if (parts > 1)
            begin_round();
        do_part(team.members[0]);
        while (atomic_load(&team.left) > 0)
            (void)sched_yield();
        seconds = span(parts);
    }
    (void)pthread_mutex_unlock(&team.one);
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

unsigned team_processors(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
#endif
    return n > 0 ? (unsigned)n : 1;
}
