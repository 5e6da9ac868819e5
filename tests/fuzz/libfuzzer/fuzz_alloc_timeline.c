/* libFuzzer's entry for memory timelines. */
#include "alloc_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    return fuzz_alloc_reader("PyTorch memory timeline", bytes, length);
}
