/* What was loaded by name, so that the points of a sweep share it. Not thread-safe while loading;
 * what it handed out may be read by many threads. It lives in an arena, with all that it loaded.
 * Each function loads at the first request and finds what is there at the next; `--set` makes
 * models and machines of their own. */
#ifndef VS_PLAN_CATALOG_H
#define VS_PLAN_CATALOG_H

#include "work/case.h"
#include "work/workload.h"

struct vs_catalog;

/* NULL when memory runs out. */
struct vs_catalog *vs_catalog_in(struct vs_arena *arena);
struct vs_arena *vs_catalog_arena(struct vs_catalog *catalog);

/* What is said beside the values of axes. */
struct vs_settings {
    const char *const *paths, *const *values; /* --set */
    size_t count;
    uint64_t train_batch; /* samples of an optimizer step over all ranks; 0 = nobody says */
    const char *train_batch_where; /* for messages: "ds.json:3:5: at $.train_batch_size" */
};

/* The workload that `user` names, or NULL in *workload when it names none. */
bool vs_catalog_workload(struct vs_catalog *catalog, const struct vs_values *user,
                         const struct vs_workload **workload, struct vs_err *err);
/* By its name, in the version and for the backend of `values`. */
bool vs_catalog_engine(struct vs_catalog *catalog, const struct vs_values *values, const char *name,
                       const struct vs_engine **engine, struct vs_err *err);
bool vs_catalog_model(struct vs_catalog *catalog, const char *name,
                      const struct vs_settings *settings, const struct vs_model **model,
                      struct vs_err *err);
/* Of the axes that say what runs where. */
bool vs_catalog_machine(struct vs_catalog *catalog, const struct vs_values *v,
                        const struct vs_settings *settings, const struct vs_machine **machine,
                        struct vs_err *err);

/* An engine's own configuration file, for who reads such: NULL = it was not kept yet. */
const void *vs_catalog_config(const struct vs_catalog *catalog, const char *path);
bool vs_catalog_keep_config(struct vs_catalog *catalog, const char *path, const void *config,
                            struct vs_err *err);

/* Gives an axis a value as its own default would; the texts live in the catalog. */
bool vs_catalog_word(struct vs_catalog *catalog, struct vs_values *v, enum vs_axis axis,
                     const char *text, struct vs_err *err);

#endif
