/* What the processor does for operations of a plan, with the loops that the probes measure. */
#ifndef VRAMSIM_EXEC_CPU_WORK_H
#define VRAMSIM_EXEC_CPU_WORK_H

#include "memory.h"
#include "plan.h"

/* Rows of weights that lie in the pieces, in blocks of 4 or 8 bit or as fp32, times as many vectors
 * as make up the operation's flops; or a step of Adam over the pieces. */
void cpu_work(const struct operation *op, const struct piece *pieces, size_t count,
              unsigned threads);
/* Bytes of memory that the operation goes over. */
double cpu_work_bytes(const struct operation *op);

#endif
