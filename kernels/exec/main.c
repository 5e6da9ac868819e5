/* vramsim-execute and vramsim-execute-cuda: carry out a plan of vramsim for real and print what it
 * took as JSON. `vramsim run --on` runs them; by hand: vramsim run ... --plan-out plan.json, then
 * vramsim-execute-cuda plan.json. The build names the program (EXECUTE_PROGRAM). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../probe.h"
#include "device.h"
#include "execute.h"
#include "result.h"

static const char USAGE[] =
    "usage: " EXECUTE_PROGRAM " [--device N] [--rounds N] [--threads N] [--spans] PLAN\n"
    "  carries out a plan of one device and prints what it took as JSON\n"
    "  --device   which one (default: 0)\n"
    "  --rounds   how often each phase is timed (default: 5), behind two that don't count\n"
    "  --threads  of the processor (default: all)\n"
    "  --spans    one round more, with the times of every operation\n";

/* Exit status: nothing to execute on is no failure of the execution. */
enum { NOTHING = 1, BAD_INPUT = 2, FAILED = 3 };
enum { WARM_UPS = 2, ROUNDS = 5, NUMBER_MOST = 1000 };

struct words {
    const char *plan;
    int device;
    struct execute_options options;
};

static bool read_number(const char *word, unsigned least, unsigned *out) {
    char *end;
    unsigned long value = strtoul(word, &end, 10);
    *out = (unsigned)value;
    return word[0] >= '0' && word[0] <= '9' && *end == '\0' && value >= least &&
           value <= NUMBER_MOST;
}

static bool parse(int count, char **at, struct words *w) {
    unsigned device = 0;
    *w = (struct words){
        .options = {.rounds = ROUNDS, .warm_ups = WARM_UPS, .threads = team_processors()}};
    for (int i = 1; i < count; i++) {
        bool more = i + 1 < count;
        if (strcmp(at[i], "--spans") == 0)
            w->options.spans = true;
        else if (strcmp(at[i], "--device") == 0 && more && read_number(at[i + 1], 0, &device))
            i++;
        else if (strcmp(at[i], "--rounds") == 0 && more &&
                 read_number(at[i + 1], 1, &w->options.rounds))
            i++;
        else if (strcmp(at[i], "--threads") == 0 && more &&
                 read_number(at[i + 1], 1, &w->options.threads))
            i++;
        else if (at[i][0] != '-' && !w->plan)
            w->plan = at[i];
        else
            return false;
    }
    w->device = (int)device;
    return w->plan != NULL;
}

static int fail(int status, const char *line) {
    (void)fprintf(stderr, EXECUTE_PROGRAM ": %s\n", line);
    return status;
}

static int print(const struct plan *plan, const struct executed *executed) {
    char *text = result_text(plan, executed, EXECUTE_PROGRAM, device_name());
    bool written = text && puts(text) >= 0 && fflush(stdout) == 0;
    int status = !text     ? fail(FAILED, "out of memory")
                 : written ? 0
                           : fail(FAILED, "standard output could not be written");
    free(text);
    return status;
}

static int run(const struct words *w, const struct plan *plan) {
    struct executed executed;
    char line[LINE_SIZE];
    const char *why = device_open(w->device, plan);
    if (why)
        return fail(NOTHING, why);
    int status =
        execute(plan, &w->options, &executed, line) ? print(plan, &executed) : fail(FAILED, line);
    executed_release(&executed);
    device_close();
    return status;
}

int main(int count, char **words) {
    struct words w;
    struct plan plan;
    char line[LINE_SIZE];
    if (!parse(count, words, &w)) {
        (void)fputs(USAGE, stderr);
        return BAD_INPUT;
    }
    int status = plan_read(w.plan, &plan, line) ? run(&w, &plan) : fail(BAD_INPUT, line);
    plan_release(&plan);
    return status;
}
