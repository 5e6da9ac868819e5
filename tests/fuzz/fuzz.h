/* Hostile input without a fuzzer: random changes of good files and words, the same ones on every
 * machine.
 *
 * A round changes one good input and hands it to its reader. Whatever comes of it must be a success
 * or an error of the user (VS_ERR_INPUT) that is one printable line; sanitizers, where they are
 * built in, see the rest. A round is fixed by its number alone, so that one that fails can be run
 * again by itself:
 *
 *     test_fuzz_files                runs for FUZZ_SECONDS
 *     test_fuzz_files 60             for a minute
 *     test_fuzz_files 0 12345        only round 12345
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum { FUZZ_SECONDS = 2 };

/* The random numbers of a round. */
uint64_t fuzz_draw(void);
size_t fuzz_below(size_t n); /* 0..n-1; n > 0 */

/* Changes a text in one place to four: bytes, ranges, numbers, strings, values of JSON. `words` are
 * put in now and then. The text never gets longer than some 64 KiB more than it was. */
void fuzz_mutate(struct vs_text *text, const char *const *words, size_t word_count);

/* What a round came to; ends the program where that is not allowed. `what` is shown then. */
void fuzz_check(bool done, const struct vs_err *err, const char *what);

/* Calls `one_round` until the time is over; the exit status. A round must end within SLOW_S. */
int fuzz_main(int count, char **words, void (*one_round)(void));

#endif
