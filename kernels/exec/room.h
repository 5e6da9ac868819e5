/* Host memory that may be taken: what was available at first, less a rest for others. Systems that
 * promise more than they have would end this process, or others, instead of refusing. */
#ifndef VRAMSIM_EXEC_ROOM_H
#define VRAMSIM_EXEC_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

bool room_take(size_t bytes); /* false: there is not so much left */
void room_give(size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
