#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MOST = 256 };

struct crew {
    atomic_size_t next; /* the next job that nobody has taken */
    size_t count;
    void (*job)(void *ctx, size_t i, unsigned worker);
    void *ctx;
};

struct member {
    struct crew *crew;
    unsigned worker;
    pthread_t thread;
};

static void work(struct crew *crew, unsigned worker) {
    for (;;) {
        size_t i = atomic_fetch_add_explicit(&crew->next, 1, memory_order_relaxed);
        if (i >= crew->count)
            return;
        crew->job(crew->ctx, i, worker);
    }
}

static void *start(void *arg) {
    const struct member *member = arg;
    work(member->crew, member->worker);
    return NULL;
}

unsigned vs_parallel_threads(unsigned wanted) {
    if (wanted == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = online > 0 && online < THREADS_MOST ? (unsigned)online : 1;
        if (online >= THREADS_MOST)
            wanted = THREADS_MOST;
    }
    return wanted < THREADS_MOST ? wanted : THREADS_MOST;
}

void vs_parallel(size_t count, unsigned threads, void (*job)(void *ctx, size_t i, unsigned worker),
                 void *ctx) {
    struct crew crew = {.count = count, .job = job, .ctx = ctx};
    struct member members[THREADS_MOST];
    atomic_init(&crew.next, 0);
    threads = vs_parallel_threads(threads);
    if (threads > count)
        threads = (unsigned)count;
    /* This thread is worker 0; where no more threads can be made, those that exist do the rest. */
    unsigned made = 1;
    for (; made < threads; made++) {
        members[made].crew = &crew;
        members[made].worker = made;
        if (pthread_create(&members[made].thread, NULL, start, &members[made]) != 0)
            break;
    }
    work(&crew, 0);
    for (unsigned i = 1; i < made; i++)
        (void)pthread_join(members[i].thread, NULL);
}
