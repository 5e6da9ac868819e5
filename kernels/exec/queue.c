#include "queue.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    queue_task task;
    void *context;
};

/* Tickets count from 1: entry of ticket t is at (t - 1) % room. */
struct queue {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t added, ran;
    struct entry *entries;
    size_t room;
    uint64_t given, done;
    bool ends;
};

static void *work(void *argument) {
    struct queue *q = argument;
    (void)pthread_mutex_lock(&q->mutex);
    for (;;) {
        while (q->done == q->given && !q->ends)
            (void)pthread_cond_wait(&q->added, &q->mutex);
        if (q->done == q->given)
            break;
        struct entry next = q->entries[q->done % q->room];
        (void)pthread_mutex_unlock(&q->mutex);
        next.task(next.context);
        (void)pthread_mutex_lock(&q->mutex);
        q->done++;
        (void)pthread_cond_broadcast(&q->ran);
    }
    (void)pthread_mutex_unlock(&q->mutex);
    return NULL;
}

struct queue *queue_new(void) {
    struct queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    (void)pthread_mutex_init(&q->mutex, NULL);
    (void)pthread_cond_init(&q->added, NULL);
    (void)pthread_cond_init(&q->ran, NULL);
    if (pthread_create(&q->thread, NULL, work, q) == 0)
        return q;
    free(q);
    return NULL;
}

void queue_free(struct queue *q) {
    if (!q)
        return;
    (void)pthread_mutex_lock(&q->mutex);
    q->ends = true;
    (void)pthread_cond_broadcast(&q->added);
    (void)pthread_mutex_unlock(&q->mutex);
    (void)pthread_join(q->thread, NULL);
    (void)pthread_cond_destroy(&q->added);
    (void)pthread_cond_destroy(&q->ran);
    (void)pthread_mutex_destroy(&q->mutex);
    free(q->entries);
    free(q);
}

/* Entries keep their places modulo the room, which doubles. */
static bool grow(struct queue *q) {
    size_t room = q->room > 0 ? 2 * q->room : 64;
    struct entry *entries = calloc(room, sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t t = q->done; t < q->given; t++)
        entries[t % room] = q->entries[t % q->room];
    free(q->entries);
    q->entries = entries;
    q->room = room;
    return true;
}

uint64_t queue_add(struct queue *q, queue_task task, void *context) {
    uint64_t ticket = 0;
    (void)pthread_mutex_lock(&q->mutex);
    if (q->given - q->done < q->room || grow(q)) {
        q->entries[q->given % q->room] = (struct entry){task, context};
        ticket = ++q->given;
        (void)pthread_cond_signal(&q->added);
    }
    (void)pthread_mutex_unlock(&q->mutex);
    return ticket;
}

void queue_wait(struct queue *q, uint64_t ticket) {
    (void)pthread_mutex_lock(&q->mutex);
    while (q->done < ticket)
        (void)pthread_cond_wait(&q->ran, &q->mutex);
    (void)pthread_mutex_unlock(&q->mutex);
}

void queue_drain(struct queue *q) {
    (void)pthread_mutex_lock(&q->mutex);
    while (q->done < q->given)
        (void)pthread_cond_wait(&q->ran, &q->mutex);
    (void)pthread_mutex_unlock(&q->mutex);
}
