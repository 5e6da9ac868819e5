/* Plans that the executor (kernels/exec) reads: what is damaged is refused in one line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "exec/plan.h"
#include "fuzz/fuzz.h"

static char path[] = "/tmp/vramsim-fuzz-XXXXXX";
static char *seed;
static size_t seed_length;

static void one_round(void) {
    static const char *const WORDS[] = {"gpu1",  "gpu0 compute", "host issue", "cpu_gemm",
                                        "touch", "accumulate",   "storage",    "4294967295"};
    struct vs_text text = {0};
    struct vs_err err = {.status = VS_OK};
    struct plan plan;
    char line[LINE_SIZE] = "";
    vs_text_addn(&text, seed, seed_length);
    fuzz_mutate(&text, WORDS, sizeof WORDS / sizeof *WORDS);
    if (!vs_file_write(path, text.at, text.length, &err))
        exit(2);
    bool done = plan_read(path, &plan, line);
    if (!done)
        (void)vs_err_set(&err, VS_ERR_INPUT, "%s", line);
    fuzz_check(done, &err, text.at);
    plan_release(&plan);
    vs_text_release(&text);
}

int main(int count, char **words) {
    struct vs_arena arena = {0};
    struct vs_err err = {.status = VS_OK};
    const int fd = mkstemp(path);
    if (fd < 0 || !vs_file_read(&arena, "tests/golden/run-plan.files/plan.json", 1 << 24, &seed,
                                &seed_length, &err))
        return 2;
    (void)close(fd);
    const int status = fuzz_main(count, words, one_round);
    (void)unlink(path);
    vs_arena_release(&arena);
    return status;
}
