/* A lane of host work: a thread that runs tasks in the order in which they were given. */
#ifndef VRAMSIM_EXEC_QUEUE_H
#define VRAMSIM_EXEC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct queue;
typedef void (*queue_task)(void *context);

struct queue *queue_new(void);        /* NULL when there is no thread to be had */
void queue_free(struct queue *queue); /* after all tasks; NULL is fine */

/* Returns the task's ticket, 0 when memory ran out. `context` must last until the task has run. */
uint64_t queue_add(struct queue *queue, queue_task task, void *context);
/* Until the task with this ticket has run. */
void queue_wait(struct queue *queue, uint64_t ticket);
void queue_drain(struct queue *queue);

#ifdef __cplusplus
}
#endif

#endif
