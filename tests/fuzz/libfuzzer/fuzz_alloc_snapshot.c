/* libFuzzer's entry for memory snapshots, pickles that is. */
#include "alloc_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    return fuzz_alloc_reader("PyTorch memory snapshot", bytes, length);
}
