/* What others ask of a loaded engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/engine.h"

enum { NUMBER_NAME_SIZE = 256 };

bool vs_engine_has_task(const struct vs_engine *engine, const char *task) {
    for (size_t i = 0; i < engine->task_count; i++)
        if (vs_streq(engine->tasks[i], task))
            return true;
    return false;
}

static const struct vs_engine_support *find_support(const struct vs_engine *engine,
                                                    const char *task, const char *axis) {
    for (size_t i = 0; i < engine->support_count; i++)
        if (vs_streq(engine->supports[i].axis, axis) && vs_streq(engine->supports[i].task, task))
            return &engine->supports[i];
    return NULL;
}

const struct vs_engine_support *vs_engine_support(const struct vs_engine *engine, const char *task,
                                                  const char *axis) {
    const struct vs_engine_support *support = find_support(engine, task, axis);
    return support && !support->any ? support : NULL;
}

/* "every" stands for "every:3" too. */
static bool covers(const char *listed, const char *word) {
    const size_t length = strlen(listed);
    return strncmp(listed, word, length) == 0 && (word[length] == '\0' || word[length] == ':');
}

bool vs_engine_supports(const struct vs_engine *engine, const char *task, const char *axis,
                        const char *word) {
    const struct vs_engine_support *support = find_support(engine, task, axis);

    if (!support) {
        const char *only = vs_engine_default(engine, task, axis);
        return only && vs_streq(only, word);
    }
    if (support->any)
        return true;
    for (size_t i = 0; i < support->count; i++)
        if (covers(support->words[i], word))
            return true;
    return false;
}

const char *vs_engine_default(const struct vs_engine *engine, const char *task, const char *axis) {
    for (size_t i = 0; i < engine->default_count; i++)
        if (vs_streq(engine->defaults[i].key, axis) && vs_streq(engine->defaults[i].task, task))
            return engine->defaults[i].word;
    return NULL;
}

const char *vs_engine_rule(const struct vs_engine *engine, const char *name, const char *fallback) {
    for (size_t i = 0; i < engine->rule_count; i++)
        if (vs_streq(engine->rules[i].name, name))
            return engine->rules[i].word;
    return fallback;
}

bool vs_engine_rule_lists(const struct vs_engine *engine, const char *name, const char *word,
                          bool fallback) {
    const char *words = vs_engine_rule(engine, name, NULL);
    const size_t n = strlen(word);

    for (const char *at = words; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, n) == 0 && (at[n] == ' ' || at[n] == '\0'))
            return true;
    }
    return words ? false : fallback;
}

static int by_name(const void *key, const void *element) {
    return strcmp(key, ((const struct vs_engine_number *)element)->name);
}

static const struct vs_engine_number *find_number(const struct vs_engine *engine,
                                                  const char *name) {
    return engine->number_count == 0 ? NULL
                                     : bsearch(name, engine->numbers, engine->number_count,
                                               sizeof *engine->numbers, by_name);
}

double vs_engine_number(const struct vs_engine *engine, const char *name, const char *arch,
                        double fallback) {
    char key[NUMBER_NAME_SIZE];
    const struct vs_engine_number *found = NULL;
    if (arch && snprintf(key, sizeof key, "%s@%s", name, arch) < NUMBER_NAME_SIZE)
        found = find_number(engine, key);
    if (!found)
        found = find_number(engine, name);
    return found ? found->num.value : fallback;
}
