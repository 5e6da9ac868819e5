#include "base/data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/vec.h"

/* VRAMSIM_DATA_BUILD, VRAMSIM_DATA_INSTALL (full paths) and VRAMSIM_DATA_BESIDE (from the folder of
 * the program) come from the build; any may be missing. */
static const char *const built_in_roots[] = {
#ifdef VRAMSIM_DATA_BUILD
    VRAMSIM_DATA_BUILD,
#endif
#ifdef VRAMSIM_DATA_INSTALL
    VRAMSIM_DATA_INSTALL,
#endif
    NULL,
};

/* A parameter of all that a thread reads while one call of the public interface runs. */
static _Thread_local const char *given_root;

const char *vs_data_root_swap(const char *root) {
    const char *before = given_root;
    given_root = root;
    return before;
}

/* The data of the prefix that the running program stands in, wherever that was moved; NULL where
 * the system doesn't tell the program's path. */
static const char *root_beside(struct vs_arena *arena) {
#ifdef VRAMSIM_DATA_BESIDE
    char program[4096];
    const char *relative = VRAMSIM_DATA_BESIDE;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return NULL;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    for (; slash && vs_starts(relative, "../"); relative += strlen("../")) {
        *slash = '\0';
        slash = strrchr(program, '/');
    }
    if (!slash)
        return NULL;
    *slash = '\0';
    return vs_arena_printf(arena, "%s/%s", program, relative);
#else
    (void)arena;
    return NULL;
#endif
}

/* The folders to search, in order; NULL when memory runs out. Ends in NULL. */
static const char **find_roots(struct vs_arena *arena) {
    size_t from_env = 0;
    char **pieces = NULL;
    const char *env = getenv("VRAMSIM_PATH");
    const char *beside = root_beside(arena);
    if (env && env[0] != '\0') {
        pieces = vs_split(arena, env, ':', &from_env);
        if (!pieces)
            return NULL;
    }
    size_t room = from_env + 2 + sizeof built_in_roots / sizeof built_in_roots[0];
    const char **roots = VS_NEW_ARRAY(arena, const char *, room);
    if (!roots)
        return NULL;
    size_t count = 0;
    if (given_root)
        roots[count++] = given_root;
    for (size_t i = 0; i < from_env; i++)
        if (pieces[i][0] != '\0')
            roots[count++] = pieces[i];
    if (beside)
        roots[count++] = beside;
    for (size_t i = 0; built_in_roots[i]; i++)
        if (!beside || !vs_streq(built_in_roots[i], beside))
            roots[count++] = built_in_roots[i];
    roots[count] = NULL;
    return roots;
}

const char *vs_data_path(struct vs_arena *arena, const char *relative) {
    const char **roots = find_roots(arena);
    for (size_t i = 0; roots && roots[i]; i++) {
        const char *path = vs_arena_printf(arena, "%s/%s", roots[i], relative);
        if (!path)
            return NULL;
        if (vs_file_exists(path) || vs_dir_exists(path))
            return path;
    }
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t sort_once(const char **names, size_t count) {
    if (count == 0)
        return 0;
    qsort(names, count, sizeof *names, compare_names);
    size_t kept = 1;
    for (size_t i = 1; i < count; i++)
        if (strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    return kept;
}

bool vs_data_list_files(struct vs_arena *arena, const char *folder, const char *suffix,
                        const char *const **names, size_t *count, struct vs_err *err) {
    VS_VEC(const char *) all = {0};
    bool ok = false;
    const char **roots = find_roots(arena);
    if (!roots)
        return vs_err_nomem(err);
    for (size_t i = 0; roots[i]; i++) {
        const char *const *some = NULL;
        size_t some_count = 0;
        const char *path = vs_arena_printf(arena, "%s/%s", roots[i], folder);
        if (!path) {
            vs_err_nomem(err);
            goto out;
        }
        if (!vs_dir_list(arena, path, suffix, &some, &some_count, err))
            goto out;
        for (size_t k = 0; k < some_count; k++)
            if (!vs_vec_push(&all, some[k])) {
                vs_err_nomem(err);
                goto out;
            }
    }
    size_t kept = sort_once(all.at, all.count);
    const char **copy = VS_NEW_ARRAY(arena, const char *, kept + 1);
    if (!copy) {
        vs_err_nomem(err);
        goto out;
    }
    for (size_t i = 0; i < kept; i++)
        copy[i] = all.at[i];
    *names = copy;
    *count = kept;
    ok = true;
out:
    vs_vec_release(&all);
    return ok;
}

bool vs_data_list(struct vs_arena *arena, const char *folder, const char *const **names,
                  size_t *count, struct vs_err *err) {
    return vs_data_list_files(arena, folder, ".json", names, count, err);
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_folded(const char *a, const char *b) {
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

static bool has_alias(const struct vs_json *root, const char *word) {
    const struct vs_json *list =
        root->kind == VS_JSON_OBJECT ? vs_json_member(root, "aliases") : NULL;
    if (!list || list->kind != VS_JSON_ARRAY)
        return false;
    for (const struct vs_json *node = list->child; node; node = node->next)
        if (node->kind == VS_JSON_STRING && same_folded(node->string, word))
            return true;
    return false;
}

/* Looks into every file of the folder. A file that cannot be read may be the one that was meant:
 * its error counts when no other file has the alias. *path stays NULL when the alias is nobody's.
 */
static bool find_alias(struct vs_arena *arena, const char *folder, const char *word,
                       const char *const *names, size_t count, const char **path,
                       struct vs_err *err) {
    struct vs_arena scratch;
    struct vs_err first = {0};
    bool ok = false;
    vs_arena_init(&scratch);
    for (size_t i = 0; i < count; i++) {
        const struct vs_json *root = NULL;
        struct vs_err broken = {0};
        vs_arena_reset(&scratch);
        const char *relative = vs_arena_printf(&scratch, "%s/%s.json", folder, names[i]);
        const char *file = relative ? vs_data_path(&scratch, relative) : NULL;
        if (!file)
            continue; /* a file that went away meanwhile, or no memory, which shows again below */
        if (!vs_json_load(&scratch, file, &root, &broken)) {
            first = first.status == VS_OK ? broken : first;
            continue;
        }
        if (!has_alias(root, word))
            continue;
        *path = vs_arena_strdup(arena, file);
        ok = *path || vs_err_nomem(err);
        goto out;
    }
    ok = first.status == VS_OK;
    if (!ok)
        *err = first;
out:
    vs_arena_release(&scratch);
    return ok;
}

static bool ends_in_json(const char *word) {
    size_t length = strlen(word);
    return length >= 5 && strcmp(word + length - 5, ".json") == 0;
}

static bool unknown(const char *what, const char *word, const char *const *names, size_t count,
                    struct vs_err *err) {
    char nearest[200];
    const char *slash = strrchr(word, '/'); /* "org/model": the files are named after the model */
    vs_nearest(slash ? slash + 1 : word, names, count, nearest, sizeof nearest);
    if (nearest[0] == '\0')
        return vs_err_set(err, VS_ERR_INPUT, "unknown %s '%s'; no data files found (VRAMSIM_PATH)",
                          what, word);
    return vs_err_set(err, VS_ERR_INPUT, "unknown %s '%.200s'; nearest: %s", what, word, nearest);
}

bool vs_data_find(struct vs_arena *arena, const char *folder, const char *what, const char *word,
                  const char **path, struct vs_err *err) {
    if (word[0] == '\0')
        return vs_err_set(err, VS_ERR_INPUT, "empty name of a %s", what);
    bool is_path = strchr(word, '/') || ends_in_json(word);
    const char *found = NULL;
    if (is_path && vs_file_exists(word)) {
        found = vs_arena_strdup(arena, word);
        if (!found)
            return vs_err_nomem(err);
        *path = found;
        return true;
    }
    if (ends_in_json(word))
        return vs_err_set(err, VS_ERR_INPUT, "cannot find the %s file '%.300s'", what, word);
    if (!is_path) {
        char *relative = vs_arena_printf(arena, "%s/%s.json", folder, word);
        if (!relative)
            return vs_err_nomem(err);
        for (char *c = relative + strlen(folder); *c != '\0'; c++)
            *c = lower(*c);
        found = vs_data_path(arena, relative);
    }
    if (!found) {
        const char *const *names = NULL;
        size_t count = 0;
        if (!vs_data_list(arena, folder, &names, &count, err) ||
            !find_alias(arena, folder, word, names, count, &found, err))
            return false;
        if (!found)
            return unknown(what, word, names, count, err);
    }
    *path = found;
    return true;
}
