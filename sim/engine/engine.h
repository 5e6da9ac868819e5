/* Software stacks as data: workloads/engines/NAME.json. Knows no devices and no axes: words stay
 * words.
 *
 * - schema: "vramsim-engine/1"; name, title; aliases, about, source (texts that are not required)
 * - like: "llamacpp": that file's rules lie under this one's, its newest or those of
 *   like_release: "b5426"; not chained
 * - tasks: ["generate"]
 * - supports: {task: {axis: [words] or true (any value)}}; an axis that is not named has only its
 *   default
 * - defaults: {task: {axis: word}}; a word may be {"value": word, "source": ".."}, or a number
 * - rules: {name: word}: names of the rules that plan/ follows ("allocator": "caching")
 * - numbers: {name: {value, method, source}}, from 0 to 1e15; "name@arch" holds for one generation
 *   of devices
 * - releases: [{"from": "b2824", "defaults": .., "rules": .., "numbers": .., "supports": ..,
 *   "source": ".."}] ascending; those up to the version asked for are laid over the rest, in order;
 *   a version with fewer parts than `from` (0.6 of 0.6.3) means the last of its series
 * - backends: [{"name": "hip", ..as a release..}]: laid over all else where the backend is asked
 *   for
 */
#ifndef VS_ENGINE_ENGINE_H
#define VS_ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/num.h"

/* A default; source may be NULL. */
struct vs_engine_word {
    const char *task, *key, *word, *source;
};
struct vs_engine_support {
    const char *task, *axis;
    const char *const *words;
    size_t count;
    bool any;
};
struct vs_engine_rule {
    const char *name, *word;
};
struct vs_engine_number {
    const char *name;
    struct vs_num num;
};

struct vs_engine {
    const char *name, *title, *file;
    const char *version; /* as asked, or NULL */
    const char *release; /* of the newest rules laid over, or NULL */
    const char *backend; /* as asked, or NULL */
    const char *const *tasks;
    size_t task_count;
    const struct vs_engine_support *supports;
    size_t support_count;
    const struct vs_engine_word *defaults;
    size_t default_count;
    const struct vs_engine_rule *rules;
    size_t rule_count;
    const struct vs_engine_number *numbers; /* sorted by name */
    size_t number_count;
};

/* version NULL: the newest rules; backend NULL: that of the device's vendor, without an overlay. A
 * backend that the file doesn't name changes nothing here: whether it is supported is asked like
 * any axis. */
bool vs_engine_load(struct vs_arena *arena, const char *name, const char *version,
                    const char *backend, const struct vs_engine **engine, struct vs_err *err);

bool vs_engine_has_task(const struct vs_engine *engine, const char *task);
/* Does the engine support this word of an axis for the task? `true` in the file means any; "every"
 * supports "every:3". An axis that the file doesn't name supports the engine's default for it. */
bool vs_engine_supports(const struct vs_engine *engine, const char *task, const char *axis,
                        const char *word);
/* The words listed for an axis, for messages and default grids; NULL when not named or any. */
const struct vs_engine_support *vs_engine_support(const struct vs_engine *engine, const char *task,
                                                  const char *axis);
/* NULL when the file states none. */
const char *vs_engine_default(const struct vs_engine *engine, const char *task, const char *axis);
const char *vs_engine_rule(const struct vs_engine *engine, const char *name, const char *fallback);
/* Is `word` one of the rule's, which are blank-separated? `fallback` where the engine has no such
 * rule. */
bool vs_engine_rule_lists(const struct vs_engine *engine, const char *name, const char *word,
                          bool fallback);
/* "name@arch" first, then "name"; `fallback` where neither stands. arch may be NULL. */
double vs_engine_number(const struct vs_engine *engine, const char *name, const char *arch,
                        double fallback);

/* Compares releases by numeric parts, rcN before and .postN after the release: <0, 0, >0. */
int vs_version_compare(const char *a, const char *b);

#endif
