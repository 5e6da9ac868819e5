#include "report/plot/tags.h"

#include "memory/pool.h"

/* Whether a tag holds anything in what is shown. */
typedef bool has_tag(const void *of, const char *tag);

static bool rows_have(const void *of, const char *tag) {
    const struct vs_plot_rows *rows = of;
    for (size_t r = 0; r < rows->count; r++) {
        const struct vs_outcome *point = rows->at[r].point;
        for (size_t p = 0; point && p < point->pool_count; p++)
            for (size_t i = 0; i < point->pools[p].by_tag_count; i++)
                if (vs_streq(point->pools[p].by_tag[i].tag, tag))
                    return true;
    }
    return false;
}

static bool levels_have(const void *of, const char *tag) {
    const struct vs_outcome *run = of;
    for (size_t i = 0; i < run->tag_level_count; i++)
        if (run->tag_levels[i].bytes > 0 && vs_streq(run->tag_levels[i].tag, tag))
            return true;
    return false;
}

static bool collect(struct vs_book *book, has_tag *has, const void *of, struct vs_plot_tags *tags) {
    *tags = (struct vs_plot_tags){.at = VS_NEW_ARRAY(&book->arena, const char *, VS_TAG_COUNT)};
    for (int t = 0; tags->at && t < VS_TAG_COUNT; t++) {
        const char *name = vs_tag_name((enum vs_tag)t);
        if (has(of, name))
            tags->at[tags->count++] = name;
    }
    return tags->at != NULL;
}

bool vs_plot_tags_of_rows(struct vs_book *book, const struct vs_plot_rows *rows,
                          struct vs_plot_tags *tags) {
    return collect(book, rows_have, rows, tags);
}

bool vs_plot_tags_of_levels(struct vs_book *book, const struct vs_outcome *run,
                            struct vs_plot_tags *tags) {
    return collect(book, levels_have, run, tags);
}

const char *vs_plot_tags_columns(struct vs_book *book, const struct vs_plot_tags *tags,
                                 const char *first, const char *last) {
    struct vs_text text = {0};
    vs_text_add(&text, first);
    for (size_t i = 0; i < tags->count; i++)
        vs_text_printf(&text, "\t%s", tags->at[i]);
    if (last)
        vs_text_printf(&text, "\t%s", last);
    const char *columns = text.failed ? NULL : vs_arena_strdup(&book->arena, vs_text_str(&text));
    vs_text_release(&text);
    book->failed = book->failed || !columns;
    return columns;
}
