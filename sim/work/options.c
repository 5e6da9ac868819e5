#include "work/options.h"

#include <string.h>

#include "base/text.h"
#include "base/vec.h"

enum {
    LIST_LONGEST = 4096, /* values of one list */
    NEAREST_SIZE = 200,
};

/* The words being read, and what they gave so far. */
struct parse {
    struct vs_arena *arena;
    const char *const *words;
    size_t count, next;
    const struct vs_option_rules *rules;
    struct vs_grid *grid;
    VS_VEC(const char *) set_paths;
    VS_VEC(const char *) set_values;
};

static bool unknown(const struct parse *p, const char *word, struct vs_err *err) {
    VS_VEC(const char *) names = {0};
    char nearest[NEAREST_SIZE] = "";
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const char *name = vs_arena_printf(p->arena, "--%s", vs_axis_info((enum vs_axis)i)->name);
        if (name)
            (void)vs_vec_push(&names, name);
    }
    (void)vs_vec_push(&names, "--set");
    const char *const *other = p->rules->other_names;
    for (size_t i = 0; other && other[i]; i++)
        (void)vs_vec_push(&names, other[i]);
    vs_nearest(word, names.at, names.count, nearest, sizeof nearest);
    vs_vec_release(&names);
    return vs_err_set(err, VS_ERR_INPUT, "unknown option '%.80s'; nearest: %s", word, nearest);
}

/* "--name=value" gives both at once; "--name value" leaves the value to the next word. */
static bool split_word(struct parse *p, const char *word, const char **name, const char **value,
                       struct vs_err *err) {
    const char *equals = strchr(word, '=');
    *name = equals ? vs_arena_strndup(p->arena, word, (size_t)(equals - word)) : word;
    *value = equals ? equals + 1 : NULL;
    return *name ? true : vs_err_nomem(err);
}

/* A word that begins with a dash is an option, unless a number follows the dash: "--batch -1" is a
 * wrong number, not a missing one. */
static bool is_option(const char *word) {
    return word[0] == '-' && !strchr(".0123456789", word[1]);
}

static bool take_value(struct parse *p, const char *name, const char **value, struct vs_err *err) {
    if (*value)
        return true;
    if (p->next == p->count || is_option(p->words[p->next])) {
        const char *found = p->next == p->count ? "the end of the line" : p->words[p->next];
        return vs_err_set(err, VS_ERR_INPUT, "%s: found %s, expected a value", name, found);
    }
    *value = p->words[p->next++];
    return true;
}

static bool read_set(struct parse *p, const char *text, struct vs_err *err) {
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals[1] == '\0')
        return vs_err_set(err, VS_ERR_INPUT,
                          "--set: found '%.80s', expected PATH=VALUE, such as "
                          "device.memory.bandwidth=900GB/s",
                          text);
    const char *path = vs_arena_strndup(p->arena, text, (size_t)(equals - text));
    const char *value = vs_arena_strdup(p->arena, equals + 1);
    if (!path || !value || !vs_vec_push(&p->set_paths, path) || !vs_vec_push(&p->set_values, value))
        return vs_err_nomem(err);
    for (size_t i = 0; i + 1 < p->set_paths.count; i++) {
        if (vs_streq(p->set_paths.at[i], path))
            return vs_err_set(err, VS_ERR_INPUT, "--set %s is given twice", path);
    }
    return true;
}

/* Parses the pieces of a list; each value may stand in it once. */
static bool read_list(struct parse *p, enum vs_axis axis, const char *where, const char *text,
                      struct vs_err *err) {
    size_t count = 0;
    char **pieces = vs_split(p->arena, text, ',', &count);
    struct vs_value *values = pieces ? VS_NEW_ARRAY(p->arena, struct vs_value, count) : NULL;
    if (!values)
        return vs_err_nomem(err);
    if (count > LIST_LONGEST)
        return vs_err_set(err, VS_ERR_INPUT, "%s: found %zu values, expected at most %d", where,
                          count, LIST_LONGEST);
    for (size_t i = 0; i < count; i++) {
        if (!vs_axis_parse(p->arena, axis, pieces[i], where, &values[i], err))
            return false;
        for (size_t k = 0; k < i; k++) {
            if (vs_streq(values[k].text, values[i].text))
                return vs_err_set(err, VS_ERR_INPUT, "%s: '%s' stands twice in the list", where,
                                  values[i].text);
        }
    }
    p->grid->lists[axis] = (struct vs_value_list){values, count};
    return true;
}

static bool read_axis(struct parse *p, enum vs_axis axis, const char *name, const char *text,
                      struct vs_err *err) {
    if (p->grid->lists[axis].count > 0)
        return vs_err_set(err, VS_ERR_INPUT, "%s is given twice%s", name,
                          p->rules->lists ? "; several values are one list: 1,2,4" : "");
    bool list = vs_axis_info(axis)->type != VS_TYPE_TEXT && strchr(text, ',') != NULL;
    if (list && !p->rules->lists)
        return vs_err_set(
            err, VS_ERR_INPUT,
            "%s: found a list '%.80s', expected one value (sweep and limit take lists)", name,
            text);
    if (list)
        return read_list(p, axis, name, text, err);
    struct vs_value *value = VS_NEW(p->arena, struct vs_value);
    if (!value)
        return vs_err_nomem(err);
    if (!vs_axis_parse(p->arena, axis, text, name, value, err))
        return false;
    p->grid->lists[axis] = (struct vs_value_list){value, 1};
    return true;
}

/* Axes have two dashes, and their aliases also one (-ngl). */
static bool find_axis(const char *option, enum vs_axis *axis) {
    bool two = vs_starts(option, "--");
    const char *name = option + (two ? 2 : 1);
    return vs_axis_find(name, axis) && (two || !vs_streq(name, vs_axis_info(*axis)->name));
}

static bool read_option(struct parse *p, struct vs_err *err) {
    const char *word = p->words[p->next], *name = NULL, *value = NULL;
    if (p->rules->other) {
        int taken =
            p->rules->other(p->rules->other_ctx, p->words + p->next, p->count - p->next, err);
        if (taken < 0)
            return false;
        p->next += (size_t)taken;
        if (taken > 0)
            return true;
    }
    if (!is_option(word))
        return vs_err_set(err, VS_ERR_INPUT, "unexpected word '%.80s', expected an option", word);
    if (!split_word(p, word, &name, &value, err))
        return false;
    p->next++;
    enum vs_axis axis;
    bool set = vs_streq(name, "--set");
    if (!set && !find_axis(name, &axis))
        return unknown(p, name, err);
    if (!take_value(p, name, &value, err))
        return false;
    return set ? read_set(p, value, err) : read_axis(p, axis, name, value, err);
}

/* Moves the --set pairs into the arena. */
static bool keep_sets(struct parse *p, struct vs_err *err) {
    size_t count = p->set_paths.count;
    const char **paths = VS_NEW_ARRAY(p->arena, const char *, count + 1);
    const char **values = VS_NEW_ARRAY(p->arena, const char *, count + 1);
    if (!paths || !values)
        return vs_err_nomem(err);
    for (size_t i = 0; i < count; i++) {
        paths[i] = p->set_paths.at[i];
        values[i] = p->set_values.at[i];
    }
    p->grid->set_paths = paths;
    p->grid->set_values = values;
    p->grid->set_count = count;
    return true;
}

bool vs_options_parse(struct vs_arena *arena, const char *const *words, size_t count,
                      const struct vs_option_rules *rules, struct vs_grid *grid,
                      struct vs_err *err) {
    struct vs_grid read = {0};
    struct parse p = {
        .arena = arena, .words = words, .count = count, .rules = rules, .grid = &read};
    bool done = true;
    while (done && p.next < p.count)
        done = read_option(&p, err);
    done = done && keep_sets(&p, err);
    if (done)
        *grid = read;
    vs_vec_release(&p.set_paths);
    vs_vec_release(&p.set_values);
    return done;
}

bool vs_grid_point(const struct vs_grid *grid, struct vs_values *values, struct vs_err *err) {
    struct vs_values point = {0};
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_value_list *list = &grid->lists[i];
        if (list->count > 1)
            return vs_err_set(err, VS_ERR_INPUT, "--%s: found a list of %zu, expected one value",
                              vs_axis_info((enum vs_axis)i)->name, list->count);
        if (list->count == 0)
            continue;
        point.at[i] = list->at[0];
        point.origin[i] = VS_FROM_USER;
    }
    *values = point;
    return true;
}
