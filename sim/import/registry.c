#include "import/reader.h"

#define X(file) extern const struct vs_trace_reader vs_trace_reader_##file;
#include "import/list.def"
#undef X

const struct vs_trace_reader *const vs_trace_readers[] = {
#define X(file) &vs_trace_reader_##file,
#include "import/list.def"
#undef X
    NULL};
