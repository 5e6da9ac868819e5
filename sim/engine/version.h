/* Releases in parts. Within engine/ only; vs_version_compare is in engine.h. */
#ifndef VS_ENGINE_VERSION_H
#define VS_ENGINE_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

enum { VS_VERSION_PARTS = 6 };

struct vs_version {
    uint64_t parts[VS_VERSION_PARTS]; /* parts that are not stated are 0 */
    size_t part_count;
    int rank; /* below 0: dev, a, b, rc; 0: the release; 1: post */
    uint64_t rank_number;
    uint64_t post; /* behind a pre-release: "1.2.0rc2.post2"; 0 = none, else its number + 1 */
};

/* False when the text is not a release; what could be read is in *version all the same. */
bool vs_version_parse(const char *text, struct vs_version *version);

/* Do rules that hold from release `from` on hold for `asked`? An asked version with fewer parts
 * than `from` means the last release of its series: 0.6 reaches 0.6.3. */
bool vs_version_reaches(const char *asked, const char *from);

#endif
