/* libFuzzer's entry for PyTorch's allocator events as CSV. */
#include "alloc_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    return fuzz_alloc_reader("PyTorch allocator events, CSV", bytes, length);
}
