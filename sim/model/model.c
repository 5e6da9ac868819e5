#include "model/model.h"

#include <string.h>

#include "base/data.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "model/fields.h"

/* The tensors are what counts; a published total only tells whether they are right. */
static bool check_published(const struct vs_json_reader *r, const struct vs_model *model,
                            uint64_t published, struct vs_err *err) {
    if (published == 0 || published == model->params_total)
        return true;
    return vs_json_fail(r, vs_json_member(r->object, "params_total"), err,
                        "%llu parameters published, but the tensors have %llu",
                        (unsigned long long)published, (unsigned long long)model->params_total);
}

/* "dir/Llama-3/config.json" is called "Llama-3", "dir/x.json" "x". */
static const char *name_of_path(struct vs_arena *arena, const char *path) {
    const char *end = path + strlen(path), *start;

    if (end - path >= 5 && strcmp(end - 5, ".json") == 0)
        end -= 5;
    for (start = end; start > path && start[-1] != '/'; start--)
        ;
    if (end - start == 6 && strncmp(start, "config", 6) == 0 && start - 1 > path) {
        end = start - 1;
        for (start = end; start > path && start[-1] != '/'; start--)
            ;
    }
    return vs_arena_strndup(arena, start, (size_t)(end - start));
}

static bool read_model(struct vs_arena *arena, struct vs_json_reader *r, struct vs_model *model,
                       struct vs_err *err) {
    const struct vs_json *schema = vs_json_member(r->object, "schema");
    uint64_t published = 0;

    if (!schema) {
        if (!vs_json_member(r->object, "architectures") && !vs_json_member(r->object, "model_type"))
            return vs_json_fail(r, r->object, err,
                                "neither a model file (\"schema\": \"vramsim-model/1\") nor a "
                                "config.json (\"architectures\")");
        model->name = name_of_path(arena, model->file);
        if (!model->name)
            return vs_err_nomem(err);
        return vs_model_read_hf(arena, r, model, err) &&
               (vs_model_build(arena, model) || vs_err_nomem(err));
    }
    if (schema->kind != VS_JSON_STRING || !vs_streq(schema->string, "vramsim-model/1"))
        return vs_json_fail(r, schema, err, "expected the schema \"vramsim-model/1\"");
    if (!vs_model_read_json(arena, r, model, &published, err))
        return false;
    if (!vs_model_build(arena, model))
        return vs_err_nomem(err);
    return check_published(r, model, published, err);
}

/* Python writes numbers that JSON does not have: they become zeros of the same length, so that
 * places stay right. None of them says anything about shape. */
static void tame_numbers(char *text) {
    static const char *const words[] = {"Infinity", "NaN"};
    bool quoted = false;

    for (char *c = text; *c; c++) {
        if (*c == '"')
            quoted = !quoted;
        else if (quoted && *c == '\\' && c[1])
            c++;
        for (size_t i = 0; !quoted && i < sizeof words / sizeof *words; i++)
            if (vs_starts(c, words[i])) {
                memset(c, ' ', strlen(words[i]));
                *c = '0';
            }
    }
}

enum { FILE_MOST_BYTES = 16 * 1024 * 1024 }; /* the largest public config.json has 3 MB */

static bool load_json(struct vs_arena *arena, const char *path, const struct vs_json **root,
                      struct vs_err *err) {
    char *text = NULL;
    size_t length = 0;

    if (!vs_file_read(arena, path, FILE_MOST_BYTES, &text, &length, err))
        return false;
    if (!strstr(text, "\"vramsim-model/"))
        tame_numbers(text);
    return vs_json_parse(arena, path, text, length, root, err);
}

bool vs_model_load(struct vs_arena *arena, const char *name_or_file, const struct vs_model **model,
                   struct vs_err *err) {
    const struct vs_json *root = NULL;
    struct vs_json_reader r;
    const char *path = NULL;
    struct vs_model *loaded;

    if (!vs_data_find(arena, "workloads/models", "model", name_or_file, &path, err) ||
        !load_json(arena, path, &root, err) || !vs_json_open(&r, path, "$", root, err))
        return false;
    loaded = VS_NEW(arena, struct vs_model);
    if (!loaded)
        return vs_err_nomem(err);
    loaded->file = path;
    if (!read_model(arena, &r, loaded, err))
        return false;
    *model = loaded;
    return true;
}

static bool unknown_field(const char *path, struct vs_err *err) {
    const char *names[VS_MODEL_FIELD_COUNT];
    char near[160];

    for (size_t i = 0; i < VS_MODEL_FIELD_COUNT; i++)
        names[i] = vs_model_fields[i].name;
    vs_nearest(path, names, VS_MODEL_FIELD_COUNT, near, sizeof near);
    return vs_err_set(err, VS_ERR_INPUT, "unknown number 'model.%s'; nearest: %s", path, near);
}

bool vs_model_override(struct vs_arena *arena, const struct vs_model **model, const char *path,
                       const char *value, struct vs_err *err) {
    const struct vs_model_field *field = vs_model_field_find(path);
    /* 0 takes a mechanism away where the field names one */
    const bool may_be_zero = field && (vs_streq(path, "window") || field->low == 0);
    char text[VS_FLAW_SIZE];
    struct vs_model *copy;
    int64_t number = 0;

    if (!field)
        return unknown_field(path, err);
    if (!vs_parse_count(value, &number, text))
        return vs_err_set(err, VS_ERR_INPUT, "model.%s: '%s': %s", path, value, text);
    if (number < 0 || (uint64_t)number > field->high ||
        ((uint64_t)number < field->low && !(number == 0 && may_be_zero)))
        return vs_err_set(err, VS_ERR_INPUT, "model.%s: expected %llu to %llu, found %s", path,
                          (unsigned long long)field->low, (unsigned long long)field->high, value);
    copy = VS_NEW(arena, struct vs_model);
    if (!copy)
        return vs_err_nomem(err);
    *copy = **model;
    *vs_model_field_at(copy, field) = (uint32_t)number;
    field = vs_model_flaw(copy, text);
    if (field)
        return vs_err_set(err, VS_ERR_INPUT, "model.%s=%s: %s: %s", path, value, field->name, text);
    if (!vs_model_build(arena, copy))
        return vs_err_nomem(err);
    *model = copy;
    return true;
}
