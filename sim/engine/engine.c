#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/text.h"
#include "base/vec.h"
#include "engine/version.h"

enum { NUMBER_NAME_SIZE = 128 };

/* What is laid over grows here and is copied into the arena at the end. */
struct load {
    struct vs_arena *arena;
    struct vs_engine *engine;
    VS_VEC(struct vs_engine_support) supports;
    VS_VEC(struct vs_engine_word) defaults;
    VS_VEC(struct vs_engine_rule) rules;
    VS_VEC(struct vs_engine_number) numbers;
    const char *source; /* of the release being read, or of the file */
};

static bool put_support(struct load *l, struct vs_engine_support support) {
    for (size_t i = 0; i < l->supports.count; i++) {
        struct vs_engine_support *old = &l->supports.at[i];
        if (vs_streq(old->axis, support.axis) && vs_streq(old->task, support.task)) {
            *old = support;
            return true;
        }
    }
    return vs_vec_push(&l->supports, support);
}

static bool put_default(struct load *l, struct vs_engine_word word) {
    for (size_t i = 0; i < l->defaults.count; i++) {
        struct vs_engine_word *old = &l->defaults.at[i];
        if (vs_streq(old->key, word.key) && vs_streq(old->task, word.task)) {
            *old = word;
            return true;
        }
    }
    return vs_vec_push(&l->defaults, word);
}

static bool put_rule(struct load *l, struct vs_engine_rule rule) {
    for (size_t i = 0; i < l->rules.count; i++) {
        if (vs_streq(l->rules.at[i].name, rule.name)) {
            l->rules.at[i] = rule;
            return true;
        }
    }
    return vs_vec_push(&l->rules, rule);
}

static bool put_number(struct load *l, struct vs_engine_number number) {
    for (size_t i = 0; i < l->numbers.count; i++) {
        if (vs_streq(l->numbers.at[i].name, number.name)) {
            l->numbers.at[i] = number;
            return true;
        }
    }
    return vs_vec_push(&l->numbers, number);
}

/* A word: a string, a number, or {"value": one of them, "source": ".."}. */
static bool read_word(struct load *l, struct vs_json_reader *r, const struct vs_json *node,
                      const char **word, const char **source, struct vs_err *err) {
    struct vs_json_reader inner;
    const struct vs_json *value = NULL;

    if (node->kind == VS_JSON_OBJECT && source) {
        return vs_json_open(&inner, r->file, r->path, node, err) &&
               vs_json_get_any(&inner, "value", true, &value, err) &&
               vs_json_get_string(&inner, "source", true, source, err) &&
               vs_json_close(&inner, err) && read_word(l, r, value, word, NULL, err);
    }
    if (node->kind == VS_JSON_STRING && node->string[0]) {
        *word = node->string;
        return true;
    }
    if (node->kind != VS_JSON_NUMBER)
        return vs_json_fail(r, node, err, "expected a word or a number");
    *word = node->is_integer ? vs_arena_printf(l->arena, "%llu", (unsigned long long)node->integer)
                             : vs_arena_printf(l->arena, "%.9g", node->number);
    return *word || vs_err_nomem(err);
}

static bool check_task(struct load *l, struct vs_json_reader *r, const struct vs_json *node,
                       struct vs_err *err) {
    char near[160];

    if (vs_engine_has_task(l->engine, node->key))
        return true;
    vs_nearest(node->key, l->engine->tasks, l->engine->task_count, near, sizeof near);
    return vs_json_fail(r, node, err, "'%.40s' is not a task of this engine, expected one of: %s",
                        node->key, near);
}

static bool read_words_of_task(struct load *l, struct vs_json_reader *r, const char *task,
                               struct vs_err *err) {
    for (const struct vs_json *node = r->object->child; node; node = node->next) {
        struct vs_engine_word word = {.task = task, .key = node->key, .source = l->source};
        if (!read_word(l, r, node, &word.word, &word.source, err))
            return false;
        if (!put_default(l, word))
            return vs_err_nomem(err);
    }
    return true;
}

/* true, or a list of words. */
static bool read_support(struct load *l, struct vs_json_reader *r, const struct vs_json *node,
                         struct vs_engine_support *support, struct vs_err *err) {
    const char **words;

    if (node->kind == VS_JSON_BOOL && node->boolean) {
        support->any = true;
        return true;
    }
    if (node->kind != VS_JSON_ARRAY)
        return vs_json_fail(r, node, err, "expected true (any value) or an array of words");
    words = VS_NEW_ARRAY(l->arena, const char *, node->count + 1);
    if (!words)
        return vs_err_nomem(err);
    for (const struct vs_json *item = node->child; item; item = item->next)
        if (!read_word(l, r, item, &words[support->count++], NULL, err))
            return false;
    support->words = words;
    return true;
}

static bool read_supports_of_task(struct load *l, struct vs_json_reader *r, const char *task,
                                  struct vs_err *err) {
    for (const struct vs_json *node = r->object->child; node; node = node->next) {
        struct vs_engine_support support = {.task = task, .axis = node->key};
        if (!read_support(l, r, node, &support, err))
            return false;
        if (!put_support(l, support))
            return vs_err_nomem(err);
    }
    return true;
}

/* {task: {key: ..}} */
static bool read_by_task(struct load *l, struct vs_json_reader *outer, const char *key,
                         bool (*read)(struct load *, struct vs_json_reader *, const char *,
                                      struct vs_err *),
                         struct vs_err *err) {
    struct vs_json_reader r, inner;
    bool present = false;

    if (!vs_json_open_member(outer, key, false, &r, &present, err))
        return false;
    if (!present)
        return true;
    for (const struct vs_json *node = r.object->child; node; node = node->next) {
        char path[sizeof r.path + 64];
        snprintf(path, sizeof path, "%s.%.60s", r.path, node->key);
        if (!check_task(l, &r, node, err) || !vs_json_open(&inner, r.file, path, node, err) ||
            !read(l, &inner, node->key, err))
            return false;
    }
    return true;
}

static bool read_rules(struct load *l, struct vs_json_reader *outer, struct vs_err *err) {
    struct vs_json_reader r;
    bool present = false;

    if (!vs_json_open_member(outer, "rules", false, &r, &present, err))
        return false;
    for (const struct vs_json *node = present ? r.object->child : NULL; node; node = node->next) {
        struct vs_engine_rule rule = {.name = node->key};
        const char *source = NULL;
        if (!read_word(l, &r, node, &rule.word, &source, err))
            return false;
        if (!put_rule(l, rule))
            return vs_err_nomem(err);
    }
    return true;
}

/* No byte count, rate or time of an engine comes near it, and it fits every integer. */
#define NUMBER_MAX 1e15

static bool read_numbers(struct load *l, struct vs_json_reader *outer, struct vs_err *err) {
    struct vs_json_reader r, one;
    bool present = false;

    if (!vs_json_open_member(outer, "numbers", false, &r, &present, err))
        return false;
    for (const struct vs_json *node = present ? r.object->child : NULL; node; node = node->next) {
        struct vs_engine_number number = {.name = node->key};
        if (strlen(node->key) >= NUMBER_NAME_SIZE || node->key[0] == '\0')
            return vs_json_fail(&r, node, err, "expected a name of 1 to %d bytes",
                                NUMBER_NAME_SIZE - 1);
        /* a reader remembers a limited number of keys: a new one for each */
        if (!vs_json_open(&one, r.file, r.path, r.object, err) ||
            !vs_num_read(l->arena, &one, node->key, true, 0, NUMBER_MAX, &number.num, err))
            return false;
        if (!put_number(l, number))
            return vs_err_nomem(err);
    }
    return true;
}

/* What the file and each of its releases may hold. */
static bool read_layer(struct load *l, struct vs_json_reader *r, struct vs_err *err) {
    return read_by_task(l, r, "supports", read_supports_of_task, err) &&
           read_by_task(l, r, "defaults", read_words_of_task, err) && read_rules(l, r, err) &&
           read_numbers(l, r, err);
}

/* `from` must be a release and later than the one before. */
static bool check_order(struct vs_json_reader *r, const char *from, const char *before,
                        struct vs_err *err) {
    const struct vs_json *node = vs_json_member(r->object, "from");
    struct vs_version parsed;

    if (!vs_version_parse(from, &parsed))
        return vs_json_fail(r, node, err, "expected a release such as 0.17.1 or b2824");
    if (before && vs_version_compare(before, from) >= 0)
        return vs_json_fail(r, node, err, "release '%.40s' stands after '%.40s'", from, before);
    return true;
}

static void release_load(struct load *l) {
    vs_vec_release(&l->supports);
    vs_vec_release(&l->defaults);
    vs_vec_release(&l->rules);
    vs_vec_release(&l->numbers);
}

/* Overlays that are not asked for are read like all others, into a copy that is dropped: so a
 * mistake in any of them is always found. */
static bool read_overlay(struct load *l, struct vs_json_reader *r, bool asked, struct vs_err *err) {
    const char *about = NULL;
    struct load dropped = {.arena = l->arena, .engine = l->engine};
    struct load *into = asked ? l : &dropped;
    bool ok = vs_json_get_string(r, "source", false, &into->source, err) &&
              vs_json_get_string(r, "about", false, &about, err) && read_layer(into, r, err) &&
              vs_json_close(r, err);
    release_load(&dropped);
    return ok;
}

static bool read_release(struct load *l, struct vs_json_reader *r, const char **before,
                         struct vs_err *err) {
    const char *from = NULL;

    if (!vs_json_get_string(r, "from", true, &from, err) || !check_order(r, from, *before, err))
        return false;
    const bool asked = !l->engine->version || vs_version_reaches(l->engine->version, from);
    if (!read_overlay(l, r, asked, err))
        return false;
    if (asked)
        l->engine->release = from;
    *before = from;
    return true;
}

static bool read_backend(struct load *l, struct vs_json_reader *r, const char **before,
                         struct vs_err *err) {
    const char *name = NULL;

    if (!vs_json_get_string(r, "name", true, &name, err))
        return false;
    if (*before && strcmp(*before, name) >= 0)
        return vs_json_fail(r, vs_json_member(r->object, "name"), err,
                            "backend '%.40s' stands after '%.40s', expected them in order", name,
                            *before);
    *before = name;
    return read_overlay(l, r, l->engine->backend && vs_streq(l->engine->backend, name), err);
}

static bool read_overlays(struct load *l, struct vs_json_reader *root, const char *key,
                          bool (*read)(struct load *, struct vs_json_reader *, const char **,
                                       struct vs_err *),
                          struct vs_err *err) {
    const struct vs_json *list = NULL;
    const char *before = NULL, *file_source = l->source;
    size_t i = 0;

    if (!vs_json_get_array(root, key, false, &list, err))
        return false;
    for (const struct vs_json *node = list ? list->child : NULL; node; node = node->next) {
        struct vs_json_reader r;
        char path[48];

        snprintf(path, sizeof path, "$.%s[%zu]", key, i++);
        l->source = file_source;
        if (!vs_json_open(&r, root->file, path, node, err) || !read(l, &r, &before, err))
            return false;
    }
    return true;
}

/* What lies under a file. */
struct under {
    const char *like, *release; /* NULL = nothing; its newest */
};

static bool read_under_head(struct vs_json_reader *r, struct under *under, struct vs_err *err) {
    struct vs_version parsed;
    if (!vs_json_get_string(r, "like", false, &under->like, err) ||
        !vs_json_get_string(r, "like_release", false, &under->release, err))
        return false;
    if (under->release && !under->like)
        return vs_json_fail(r, vs_json_member(r->object, "like_release"), err,
                            "expected 'like' beside it, the engine of that release");
    return !under->release || vs_version_parse(under->release, &parsed) ||
           vs_json_fail(r, vs_json_member(r->object, "like_release"), err,
                        "found '%.40s', expected a release such as 0.17.1 or b2824",
                        under->release);
}

static bool read_head(struct load *l, struct vs_json_reader *r, struct under *under,
                      struct vs_err *err) {
    struct vs_engine *e = l->engine;
    const char *schema = NULL, *about = NULL;
    const char *const *aliases = NULL;
    size_t alias_count = 0;

    if (!vs_json_get_string(r, "schema", true, &schema, err))
        return false;
    if (!vs_streq(schema, "vramsim-engine/1"))
        return vs_json_fail(r, vs_json_member(r->object, "schema"), err,
                            "expected the schema \"vramsim-engine/1\"");
    return vs_json_get_string(r, "name", true, &e->name, err) &&
           vs_json_get_string(r, "title", true, &e->title, err) &&
           vs_json_get_strings(r, "aliases", false, l->arena, &aliases, &alias_count, err) &&
           vs_json_get_string(r, "about", false, &about, err) && read_under_head(r, under, err) &&
           vs_json_get_string(r, "source", false, &l->source, err) &&
           vs_json_get_strings(r, "tasks", true, l->arena, &e->tasks, &e->task_count, err);
}

/* "multi_node": false is asked for like any rule. */
static bool read_multi_node(struct load *l, struct vs_json_reader *r, struct vs_err *err) {
    bool on = true;

    if (!vs_json_get_bool(r, "multi_node", false, &on, err))
        return false;
    return put_rule(l, (struct vs_engine_rule){"multi_node", on ? "on" : "off"}) ||
           vs_err_nomem(err);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct vs_engine_number *)a)->name,
                  ((const struct vs_engine_number *)b)->name);
}

static bool finish(struct load *l, struct vs_err *err) {
    struct vs_engine *e = l->engine;

    if (l->numbers.count > 0)
        qsort(l->numbers.at, l->numbers.count, sizeof *l->numbers.at, by_name);
    e->supports =
        vs_arena_copy(l->arena, l->supports.at, l->supports.count, sizeof *l->supports.at);
    e->defaults =
        vs_arena_copy(l->arena, l->defaults.at, l->defaults.count, sizeof *l->defaults.at);
    e->rules = vs_arena_copy(l->arena, l->rules.at, l->rules.count, sizeof *l->rules.at);
    e->numbers = vs_arena_copy(l->arena, l->numbers.at, l->numbers.count, sizeof *l->numbers.at);
    e->support_count = l->supports.count;
    e->default_count = l->defaults.count;
    e->rule_count = l->rules.count;
    e->number_count = l->numbers.count;
    return (e->supports && e->defaults && e->rules && e->numbers) || vs_err_nomem(err);
}

static bool set_asked(struct load *l, const char *version, const char *backend,
                      struct vs_err *err) {
    struct vs_version parsed;

    l->engine->backend = backend ? vs_arena_strdup(l->arena, backend) : NULL;
    if (backend && !l->engine->backend)
        return vs_err_nomem(err);
    if (!version)
        return true;
    if (!vs_version_parse(version, &parsed))
        return vs_err_set(err, VS_ERR_INPUT,
                          "engine version '%s': expected a release such as 0.17.1 or b2824",
                          version);
    l->engine->version = vs_arena_strdup(l->arena, version);
    return l->engine->version || vs_err_nomem(err);
}

/* Everything behind the head. */
static bool read_body(struct load *l, struct vs_json_reader *r, struct vs_err *err) {
    return read_multi_node(l, r, err) && read_layer(l, r, err) &&
           read_overlays(l, r, "releases", read_release, err) &&
           read_overlays(l, r, "backends", read_backend, err) && vs_json_close(r, err);
}

/* The engine that a file is like lies under it, as of the release that the file names, whatever
 * version is asked for: versions of one say nothing about the other. */
static bool read_under(struct load *l, struct vs_json_reader *above, const struct under *under,
                       struct vs_err *err) {
    const char *const source = l->source;
    const struct vs_engine own = *l->engine;
    const struct vs_json *root = NULL;
    struct vs_json_reader r;
    const char *path = NULL;
    struct under none = {0};

    l->engine->version = under->release;
    if (!vs_data_find(l->arena, "workloads/engines", "engine", under->like, &path, err) ||
        !vs_json_load(l->arena, path, &root, err) || !vs_json_open(&r, path, "$", root, err) ||
        !read_head(l, &r, &none, err))
        return false;
    if (none.like)
        return vs_json_fail(above, vs_json_member(above->object, "like"), err,
                            "'%.40s' is itself like '%.40s', expected an engine that is like none",
                            under->like, none.like);
    if (!read_body(l, &r, err))
        return false;
    *l->engine = own;
    l->source = source;
    return true;
}

static bool read_file(struct load *l, const char *name, struct vs_err *err) {
    const struct vs_json *root = NULL;
    struct vs_json_reader r;
    const char *path = NULL;
    struct under under = {0};

    if (!vs_data_find(l->arena, "workloads/engines", "engine", name, &path, err) ||
        !vs_json_load(l->arena, path, &root, err) || !vs_json_open(&r, path, "$", root, err))
        return false;
    l->engine->file = path;
    return read_head(l, &r, &under, err) && (!under.like || read_under(l, &r, &under, err)) &&
           read_body(l, &r, err);
}

bool vs_engine_load(struct vs_arena *arena, const char *name, const char *version,
                    const char *backend, const struct vs_engine **engine, struct vs_err *err) {
    struct load l = {.arena = arena, .engine = VS_NEW(arena, struct vs_engine)};

    if (!l.engine)
        return vs_err_nomem(err);
    bool ok = set_asked(&l, version, backend, err) && read_file(&l, name, err) && finish(&l, err);
    release_load(&l);
    if (ok)
        *engine = l.engine;
    return ok;
}
