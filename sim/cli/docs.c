#include "cli/docs.h"

#include <string.h>

/* Options whose values have names, and the kind of `vramsim list` that knows them. */
static const struct {
    const char *option, *kind;
} NAMES[] = {
    {"hw", "hw"},           {"host", "hosts"},         {"link", "links"},
    {"storage", "storage"}, {"workload", "workloads"}, {"model", "models"},
    {"engine", "engines"},  {"weights", "formats"},    {"kv", "formats"},
    {"kv-k", "formats"},    {"kv-v", "formats"},       {"sort", "metrics"},
};

static const char *names_of(const char *option) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (vs_streq(NAMES[i].option, option))
            return NAMES[i].kind;
    }
    return NULL;
}

struct vs_docs_value vs_docs_axis_value(const struct vs_axis_info *info) {
    const char *names = names_of(info->name);
    if (names)
        return (struct vs_docs_value){VS_DOCS_NAMES, names};
    if (info->words[0] != '\0')
        return (struct vs_docs_value){VS_DOCS_WORDS, info->words};
    return (struct vs_docs_value){VS_DOCS_ANY, ""};
}

struct vs_docs_value vs_docs_option_value(const struct vs_cli_option *option) {
    static const struct {
        const char *metavar;
        struct vs_docs_value value;
    } BY_METAVAR[] = {
        {"FILE", {VS_DOCS_FILE, ""}},
        {"PATH...", {VS_DOCS_FILE, ""}},
        {"DIR", {VS_DOCS_FOLDER, ""}},
        {"KIND", {VS_DOCS_NAMES, ""}},
        {"AXIS", {VS_DOCS_WORDS, "ctx batch seq micro-batch gpu-layers"}},
    };
    const char *names = option->name ? names_of(option->name + strlen("--")) : NULL;
    if (option->kind == VS_CLI_FLAG)
        return (struct vs_docs_value){VS_DOCS_NOTHING, ""};
    if (names)
        return (struct vs_docs_value){VS_DOCS_NAMES, names};
    for (size_t i = 0; i < sizeof BY_METAVAR / sizeof *BY_METAVAR; i++) {
        if (vs_streq(BY_METAVAR[i].metavar, option->metavar))
            return BY_METAVAR[i].value;
    }
    return (struct vs_docs_value){VS_DOCS_ANY, ""};
}

static void escape(struct vs_text *out, const char *text, size_t length, const char *escaped) {
    for (size_t i = 0; i < length; i++) {
        if (strchr(escaped, text[i]))
            vs_text_add(out, "\\");
        vs_text_addn(out, text + i, 1);
    }
}

void vs_docs_escape(struct vs_text *out, const char *text, const char *escaped) {
    escape(out, text, strlen(text), escaped);
}

void vs_docs_words(struct vs_text *out, const char *words, const char *escaped) {
    const char *blank = "";
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        vs_text_add(out, blank);
        escape(out, at, strcspn(at, "=#% "), escaped);
        at += strcspn(at, " ");
        blank = " ";
    }
}
