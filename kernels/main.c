/* vramsim-probe and vramsim-probe-cuda: measure this machine and print samples as JSON. `vramsim
 * calibrate` makes a profile of them; by hand: vramsim-probe > kernels/raw/mymachine.json. The
 * build names the program (PROBE_PROGRAM) and the list of its probes (PROBE_LIST). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

#define X(name) extern const struct probe probe_##name;
#include PROBE_LIST
#undef X

static const struct probe *const PROBES[] = {
#define X(name) &probe_##name,
#include PROBE_LIST
#undef X
};
enum { PROBE_COUNT = sizeof PROBES / sizeof *PROBES };

static const char USAGE[] =
    "usage: " PROBE_PROGRAM " [--quick | --full] [--folder DIR] [--only PREFIX] [--list]\n"
    "  prints samples of this machine as JSON\n"
    "  --quick   under a minute (default)\n"
    "  --full    minutes: larger working sets, more repetitions\n"
    "  --folder  where storage probes put their file (default: the working directory)\n"
    "  --only    the probes whose names begin so\n"
    "  --list    the probes, one to a line\n";

struct options {
    bool full, list;
    const char *folder, *only;
};

static bool parse(int count, char **words, struct options *o) {
    *o = (struct options){.folder = ".", .only = ""};
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--full") == 0)
            o->full = true;
        else if (strcmp(words[i], "--quick") == 0)
            o->full = false;
        else if (strcmp(words[i], "--list") == 0)
            o->list = true;
        else if (strcmp(words[i], "--folder") == 0 && i + 1 < count)
            o->folder = words[++i];
        else if (strcmp(words[i], "--only") == 0 && i + 1 < count)
            o->only = words[++i];
        else
            return false;
    }
    return true;
}

static bool wanted(const struct probe *probe, const struct options *o) {
    return strncmp(probe->name, o->only, strlen(o->only)) == 0;
}

/* Exit status: nothing to measure here is no failure of the measurement. */
enum { NOTHING = 1, FAILED = 3 };

static int run(const struct options *o) {
    const size_t mib = 1 << 20;
    const struct probe_limits limits = {.seconds = o->full ? 3 : 0.4,
                                        .bytes = (o->full ? 1024 : 256) * mib,
                                        .file_bytes = (o->full ? 4096 : 256) * mib,
                                        .threads = team_processors(),
                                        .folder = o->folder};
    struct session *session = session_new(isatty(STDERR_FILENO) == 1);
    const char *nothing = session ? machine_prepare(session) : NULL;
    if (nothing) {
        fprintf(stderr, PROBE_PROGRAM ": %s\n", nothing);
        session_free(session);
        return NOTHING;
    }
    size_t all = 0, done = 0;
    for (size_t i = 0; i < PROBE_COUNT; i++)
        all += wanted(PROBES[i], o);
    for (size_t i = 0; session && i < PROBE_COUNT; i++) {
        if (!wanted(PROBES[i], o))
            continue;
        session_progress(session, done++, all, PROBES[i]->name);
        session_begin(session, PROBES[i]);
        PROBES[i]->run(session, &limits);
    }
    if (session)
        machine_finish(session);
    char *text = session ? session_text(session, PROBE_PROGRAM, &limits) : NULL;
    if (session)
        session_progress(session, all, all, "");
    session_free(session);
    if (!text) {
        fprintf(stderr, PROBE_PROGRAM ": out of memory\n");
        return FAILED;
    }
    bool written = puts(text) >= 0 && fflush(stdout) == 0;
    free(text);
    if (!written)
        fprintf(stderr, PROBE_PROGRAM ": standard output could not be written\n");
    return written ? 0 : FAILED;
}

int main(int count, char **words) {
    struct options options;
    if (!parse(count, words, &options)) {
        fputs(USAGE, stderr);
        return 2;
    }
    if (!options.list)
        return run(&options);
    for (size_t i = 0; i < PROBE_COUNT; i++)
        printf("%-20s %s\n", PROBES[i]->name, PROBES[i]->what);
    return 0;
}
