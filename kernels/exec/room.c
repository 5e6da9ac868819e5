#include "room.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t REST = (size_t)512 << 20;

/* Without /proc/meminfo nothing is refused here. */
static size_t available(void) {
    static const char KEY[] = "MemAvailable:";
    char line[200];
    size_t bytes = SIZE_MAX;
    FILE *in = fopen("/proc/meminfo", "r");
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, KEY, sizeof KEY - 1) == 0)
            bytes = (size_t)strtoull(line + sizeof KEY - 1, NULL, 10) << 10;
    if (in)
        (void)fclose(in);
    return bytes > REST ? bytes - REST : 0;
}

static size_t most, taken;

bool room_take(size_t bytes) {
    if (most == 0)
        most = available();
    if (bytes > most || taken > most - bytes)
        return false;
    taken += bytes;
    return true;
}

void room_give(size_t bytes) { taken -= bytes; }
