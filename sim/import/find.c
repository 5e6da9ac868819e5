#include "import/find.h"

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"

const char *vs_trace_find(struct vs_arena *arena, const char *word) {
    static const char *const FOLDERS[] = {"traces", "workloads/traces"};
    bool relative = word[0] != '/' && !vs_streq(word, "-");
    for (size_t i = 0; relative && i < sizeof FOLDERS / sizeof *FOLDERS; i++) {
        const char *below = vs_arena_printf(arena, "%s/%s", FOLDERS[i], word);
        const char *path = below ? vs_data_path(arena, below) : NULL;
        if (!below)
            return NULL;
        if (path && vs_file_exists(path))
            return path;
    }
    return word;
}
