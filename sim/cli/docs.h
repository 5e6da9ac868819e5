/* Documents made from the tables that the command line is parsed by, when the program is built: the
 * manual page and the completions of two shells. docs_main.c writes them. */
#ifndef VS_CLI_DOCS_H
#define VS_CLI_DOCS_H

#include "cli/cli.h"

void vs_docs_man(struct vs_text *out);  /* roff, macros of man(7) */
void vs_docs_bash(struct vs_text *out); /* for bash 3.2 and later */
void vs_docs_zsh(struct vs_text *out);

/* What may stand behind an option. */
enum vs_docs_kind {
    VS_DOCS_NOTHING, /* a flag */
    VS_DOCS_ANY,     /* a number or a text: no proposal */
    VS_DOCS_FILE,
    VS_DOCS_FOLDER,
    VS_DOCS_NAMES, /* what `vramsim list WORDS --names` prints */
    VS_DOCS_WORDS, /* one of the words */
};
struct vs_docs_value {
    enum vs_docs_kind kind;
    const char *words; /* blank-separated, maybe with marks as in axes.def ("every:#", "qv=q+v") */
};
struct vs_docs_value vs_docs_axis_value(const struct vs_axis_info *info);
struct vs_docs_value vs_docs_option_value(const struct vs_cli_option *option);

/* Appends the words as one types them, blank-separated ("every:", "qv"), with a backslash before
 * each byte of `escaped`. */
void vs_docs_words(struct vs_text *out, const char *words, const char *escaped);
/* Appends a text with a backslash before each byte of `escaped`. */
void vs_docs_escape(struct vs_text *out, const char *text, const char *escaped);

#endif
