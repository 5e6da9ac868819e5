/* Runs a target of libFuzzer over the files that are named, where no libFuzzer is linked. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { FILE_MOST_BYTES = 1 << 20 };

int main(int count, char **paths) {
    uint8_t *bytes = malloc(FILE_MOST_BYTES);
    if (!bytes || count < 2)
        return 2;
    for (int i = 1; i < count; i++) {
        FILE *stream = fopen(paths[i], "rb");
        if (!stream) {
            (void)fprintf(stderr, "cannot read '%s'\n", paths[i]);
            free(bytes);
            return 2;
        }
        size_t length = fread(bytes, 1, FILE_MOST_BYTES, stream);
        (void)fclose(stream);
        (void)LLVMFuzzerTestOneInput(bytes, length);
    }
    printf("%d files\n", count - 1);
    free(bytes);
    return 0;
}
