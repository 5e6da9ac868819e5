#include "cli/cli.h"

#if defined(__GLIBC__)
#include <malloc.h>

/* A sweep takes and gives back the same few megabytes for each of its points: the process keeps
 * them, where it would ask the system for fresh pages each time (a fifth of its time). */
static void keep_memory(void) {
    enum { MIB = 1 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, 32 * MIB);
    (void)mallopt(M_TRIM_THRESHOLD, 256 * MIB);
    (void)mallopt(M_TOP_PAD, 4 * MIB);
}
#else
static void keep_memory(void) {}
#endif

int main(int argc, char **argv) {
    keep_memory();
    return vs_cli_main((const char *const *)argv + 1, argc > 0 ? (size_t)argc - 1 : 0);
}
