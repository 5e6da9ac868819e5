/* The manual page and the completions name all that the tables hold. */
#include <string.h>

#include "cli/docs.h"
#include "run/outcome.h"
#include "unit/suite.h"

static struct vs_text man, bash, zsh;

static void setup(void) {
    vs_docs_man(&man);
    vs_docs_bash(&bash);
    vs_docs_zsh(&zsh);
    ck_assert(!man.failed && !bash.failed && !zsh.failed);
}

static void teardown(void) {
    vs_text_release(&man);
    vs_text_release(&bash);
    vs_text_release(&zsh);
}

static void holds(const struct vs_text *text, const char *words) {
    ck_assert_msg(strstr(vs_text_str(text), words) != NULL, "no '%s'", words);
}

/* "gpu-layers" is "gpu\-layers" in roff. */
static const char *roff(const char *words) {
    static struct vs_text escaped;
    vs_text_release(&escaped);
    escaped = (struct vs_text){0};
    vs_docs_escape(&escaped, words, "-");
    return vs_text_str(&escaped);
}

START_TEST(every_axis) {
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        struct vs_text option = {0};
        vs_text_printf(&option, "--%s", vs_axis_info((enum vs_axis)i)->name);
        holds(&man, roff(vs_text_str(&option)));
        holds(&bash, vs_text_str(&option));
        holds(&zsh, vs_text_str(&option));
        vs_text_release(&option);
    }
}
END_TEST

START_TEST(every_command_and_option) {
    for (size_t c = 0; vs_commands[c]; c++) {
        struct vs_text words = {0};
        vs_text_printf(&words, ".SS \"%s\"\n", vs_commands[c]->name);
        holds(&man, vs_text_str(&words));
        vs_text_release(&words);
        for (size_t i = 0; i < vs_commands[c]->option_count; i++) {
            const char *name = vs_commands[c]->options[i].name;
            if (!name)
                continue;
            holds(&man, roff(name));
            holds(&bash, name);
            holds(&zsh, name);
        }
    }
}
END_TEST

START_TEST(metrics_and_statuses) {
    for (int i = 0; i < VS_METRIC_COUNT; i++)
        holds(&man, vs_metric_info((enum vs_metric)i)->name);
    for (const struct vs_exit_status *status = vs_exit_statuses; status->text; status++)
        holds(&man, roff(status->text));
}
END_TEST

/* No text may begin a line as a request of roff would; escapes are those that we write. */
START_TEST(roff_lines) {
    static const char *const REQUESTS[] = {".TH ",  ".SH ",  ".SS ",  ".TP\n", ".PP\n", ".RS ",
                                           ".RE\n", ".nf\n", ".fi\n", ".nh\n", ".ad ",  ".\\\" "};
    for (const char *line = vs_text_str(&man); line && *line != '\0';) {
        bool known = line[0] != '.' && line[0] != '\'';
        for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++)
            known = known || vs_starts(line, REQUESTS[i]);
        ck_assert_msg(known, "'%.40s'", line);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    for (const char *at = strchr(vs_text_str(&man), '\\'); at; at = strchr(at + 2, '\\'))
        ck_assert_msg(at[1] != '\0' && strchr("-efB&\"", at[1]), "'%.10s'", at);
}
END_TEST

START_TEST(words) {
    struct vs_text text = {0};
    vs_docs_words(&text, "none every:# exl2:% qv=q+v", "");
    ck_assert_str_eq(vs_text_str(&text), "none every: exl2: qv");
    vs_text_release(&text);
    vs_docs_words(&text, "every:#", ":");
    ck_assert_str_eq(vs_text_str(&text), "every\\:");
    vs_text_release(&text);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("docs");
    TCase *tests = tcase_create("docs");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, every_axis);
    tcase_add_test(tests, every_command_and_option);
    tcase_add_test(tests, metrics_and_statuses);
    tcase_add_test(tests, roff_lines);
    tcase_add_test(tests, words);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
