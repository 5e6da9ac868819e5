/* Writes the documents of docs.h into a folder, when the program is built: docs_main FOLDER */
#include "base/file.h"
#include "cli/docs.h"

static bool write_one(struct vs_arena *arena, const char *folder, const char *name,
                      void (*make)(struct vs_text *out), struct vs_err *err) {
    struct vs_text text = {0};
    const char *path = vs_arena_printf(arena, "%s/%s", folder, name);
    make(&text);
    bool done = path && !text.failed ? vs_file_write(path, vs_text_str(&text), text.length, err)
                                     : vs_err_nomem(err);
    vs_text_release(&text);
    return done;
}

int main(int argc, char **argv) {
    struct vs_err err = {0};
    struct vs_arena arena;
    vs_arena_init(&arena);
    const char *folder = argc > 1 ? argv[1] : ".";
    bool done = write_one(&arena, folder, "vramsim.1", vs_docs_man, &err) &&
                write_one(&arena, folder, "vramsim.bash", vs_docs_bash, &err) &&
                write_one(&arena, folder, "_vramsim", vs_docs_zsh, &err);
    vs_arena_release(&arena);
    if (!done)
        vs_cli_error(&err);
    return done ? 0 : 1;
}
