/* libFuzzer's entry for samples: the input is a document of the probes, or the output of a tool;
 * its content says which reader takes it. What is taken is fitted too. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "calib/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    struct vs_arena arena;
    struct vs_err err;
    struct vs_samples samples;
    struct vs_profile profile;
    vs_arena_init(&arena);
    char *text = vs_arena_strndup(&arena, (const char *)bytes, length);
    if (text && vs_samples_over(&arena, "input", text, strlen(text), &samples, &err) &&
        vs_profile_fit(&arena, &samples, "fuzz", NULL, &profile, &err)) {
        struct vs_text out = {0};
        vs_profile_write(&out, &profile);
        vs_text_release(&out);
    }
    vs_arena_release(&arena);
    return 0;
}
