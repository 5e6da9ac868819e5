/* What others ask of a loaded engine. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/engine.h"

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

/* "name@arch", or "name" where arch is NULL. */
struct number_key {
    const char *name, *arch;
};

/* The order of the texts, without writing the key down: numbers are asked for once per operation of
 * each step. */
static int match(const void *key, const void *element) {
    const struct number_key *k = key;
    const char *text = ((const struct vs_engine_number *)element)->name;
    size_t length = strlen(k->name);
    int order = strncmp(k->name, text, length);
    if (order != 0)
        return order;
    if (!k->arch)
        return text[length] == '\0' ? 0 : -1;
    return text[length] != '@' ? '@' - (unsigned char)text[length]
                               : strcmp(k->arch, text + length + 1);
}

static const struct vs_engine_number *find_number(const struct vs_engine *engine, const char *name,
                                                  const char *arch) {
    const struct number_key key = {name, arch};
    if (engine->number_count == 0)
        return NULL;
    return bsearch(&key, engine->numbers, engine->number_count, sizeof *engine->numbers, match);
}

double vs_engine_number(const struct vs_engine *engine, const char *name, const char *arch,
                        double fallback) {
    const struct vs_engine_number *found = arch ? find_number(engine, name, arch) : NULL;
    if (!found)
        found = find_number(engine, name, NULL);
    return found ? found->num.value : fallback;
}
