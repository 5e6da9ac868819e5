/* The table of axes: parsing one value, what messages say, labels, shorthands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "unit/suite.h"
#include "work/axis.h"

static struct vs_arena arena;

static struct vs_value parse(enum vs_axis axis, const char *text) {
    struct vs_value value = {0};
    struct vs_err err = {0};
    ck_assert_msg(vs_axis_parse(&arena, axis, text, "--x", &value, &err), "%s: %s", text, err.text);
    return value;
}

static void check_refused(enum vs_axis axis, const char *text, const char *message) {
    struct vs_value value = {.text = "kept"};
    struct vs_err err = {0};
    ck_assert_msg(!vs_axis_parse(&arena, axis, text, "--x", &value, &err), "took '%s'", text);
    ck_assert_int_eq(err.status, VS_ERR_INPUT);
    ck_assert_str_eq(err.text, message);
    ck_assert_str_eq(value.text, "kept");
}

START_TEST(axes_are_found_by_name) {
    enum vs_axis axis;
    ck_assert(vs_axis_find("ckpt", &axis));
    ck_assert_int_eq(axis, VS_AXIS_CKPT);
    ck_assert(vs_axis_find("ngl", &axis));
    ck_assert_int_eq(axis, VS_AXIS_GPU_LAYERS);
    axis = VS_AXIS_SEQ;
    ck_assert(!vs_axis_find("--seq", &axis));
    ck_assert(!vs_axis_find("SEQ", &axis));
    ck_assert(!vs_axis_find("", &axis));
    ck_assert_int_eq(axis, VS_AXIS_SEQ);
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        ck_assert(vs_axis_find(vs_axis_info((enum vs_axis)i)->name, &axis));
        ck_assert_int_eq(axis, i);
    }
}
END_TEST

/* What the table says of itself must pass its own parser, and each axis must serve a task. */
START_TEST(table_is_sound) {
    static const char *const GROUPS[] = {"what", "shape", "strategy", "engine"};
    for (int i = 0; i < VS_AXIS_COUNT; i++) {
        const struct vs_axis_info *info = vs_axis_info((enum vs_axis)i);
        if (info->fallback[0] != '\0')
            (void)parse((enum vs_axis)i, info->fallback);
        bool grouped = false;
        for (size_t g = 0; g < 4; g++)
            grouped = grouped || vs_streq(info->group, GROUPS[g]);
        ck_assert_msg(grouped, "%s", info->name);
        ck_assert_msg(info->tasks[0] && strspn(info->tasks, "gst") == strlen(info->tasks), "%s",
                      info->name);
        ck_assert_msg(info->help[0] != '\0', "%s", info->name);
        bool words = info->type == VS_TYPE_WORD || info->type == VS_TYPE_WORDS;
        ck_assert_msg(!words || info->words[0] != '\0', "%s", info->name);
        bool number = info->type == VS_TYPE_COUNT || info->type == VS_TYPE_REAL ||
                      info->type == VS_TYPE_BYTES || info->type == VS_TYPE_RATE;
        ck_assert_msg(!number || info->low < info->high, "%s", info->name);
    }
}
END_TEST

START_TEST(counts) {
    struct vs_value value = parse(VS_AXIS_CTX, "8k");
    ck_assert_str_eq(value.text, "8192");
    ck_assert_int_eq(value.count, 8192);
    ck_assert_double_eq(value.number, 8192);
    ck_assert_ptr_null(value.word);
    ck_assert_str_eq(parse(VS_AXIS_CTX, "4M").text, "4194304"); /* the bound itself */
    ck_assert_int_eq(parse(VS_AXIS_PROMPT, "0").count, 0);
    value = parse(VS_AXIS_GPU_LAYERS, "all");
    ck_assert_str_eq(value.text, "all");
    ck_assert_str_eq(value.word, "all");
    ck_assert_int_eq(parse(VS_AXIS_GPU_LAYERS, "33").count, 33);
    check_refused(VS_AXIS_SEQ, "0", "--x: found '0', expected a whole number from 1 to 4194304");
    check_refused(VS_AXIS_BATCH, "-1", "--x: found '-1', expected a whole number from 1 to 65536");
    check_refused(VS_AXIS_CTX, "1e30",
                  "--x: found '1e30', expected a whole number from 1 to 4194304");
    check_refused(VS_AXIS_SEQ, "1.5",
                  "--x: found '1.5', expected a whole number from 1 to 4194304");
    check_refused(VS_AXIS_SEQ, "nan",
                  "--x: found 'nan', expected a whole number from 1 to 4194304");
    check_refused(VS_AXIS_SEQ, "", "--x: found '', expected a whole number from 1 to 4194304");
    check_refused(VS_AXIS_GPU_LAYERS, "most",
                  "--x: found 'most', expected a whole number from 0 to 1000000, or all, auto");
}
END_TEST

/* The canonical text is the shortest exact one, so that equal sizes compare equal. */
START_TEST(sizes_and_rates) {
    struct vs_value value = parse(VS_AXIS_RAM, "64GiB");
    ck_assert_str_eq(value.text, "64GiB");
    ck_assert_int_eq(value.count, 68719476736);
    ck_assert_str_eq(parse(VS_AXIS_RAM, "65536MiB").text, "64GiB");
    ck_assert_str_eq(parse(VS_AXIS_RAM, "64000MB").text, "64GB");
    ck_assert_str_eq(parse(VS_AXIS_RAM, "1025").text, "1025B");
    check_refused(VS_AXIS_RAM, "12parsecs",
                  "--x: found '12parsecs', expected a size such as 24GiB or 500MB");
    check_refused(VS_AXIS_RAM, "0", "--x: found '0', expected a size from 1 B to 909.5 TiB");
    check_refused(VS_AXIS_RAM, "2000TB",
                  "--x: found '2000TB', expected a size from 1 B to 909.5 TiB");
    value = parse(VS_AXIS_NET, "400Gb/s");
    ck_assert_str_eq(value.text, "50GB/s");
    ck_assert_double_eq(value.number, 50e9);
    check_refused(VS_AXIS_NET, "50GB",
                  "--x: found '50GB', expected a rate such as 900GB/s, 25GiB/s or 200Gb/s");
    check_refused(VS_AXIS_NET, "1B/s",
                  "--x: found '1B/s', expected a rate from 1 MB/s to 1000 TB/s");
}
END_TEST

START_TEST(reals) {
    ck_assert_str_eq(parse(VS_AXIS_LORA_DROPOUT, "0.050").text, "0.05");
    ck_assert_double_eq(parse(VS_AXIS_LORA_DROPOUT, "0.05").number, 0.05);
    check_refused(VS_AXIS_LORA_DROPOUT, "1", "--x: found '1', expected a number from 0 to 0.99");
    check_refused(VS_AXIS_LORA_DROPOUT, "inf",
                  "--x: found 'inf', expected a number from 0 to 0.99");
}
END_TEST

START_TEST(words) {
    struct vs_value value = parse(VS_AXIS_CKPT, "every:4");
    ck_assert_str_eq(value.text, "every:4");
    ck_assert_str_eq(value.word, "every");
    ck_assert_int_eq(value.count, 4);
    value = parse(VS_AXIS_CKPT, "full");
    ck_assert_str_eq(value.text, "full");
    ck_assert_str_eq(value.word, "full");
    static const char *const WRONG[] = {
        "",        "ful",       "full:2",   "every", "every:", "every:0",  "every:-3",
        "every:#", "every:1e9", "every:4x", "Full",  "full ",  "none full"};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        char message[120];
        (void)snprintf(message, sizeof message,
                       "--x: found '%s', expected one of none, full, selective, every:N, sqrt, op",
                       WRONG[i]);
        check_refused(VS_AXIS_CKPT, WRONG[i], message);
    }
}
END_TEST

/* In the order of the table, abbreviations written out: equal sets have equal texts. */
START_TEST(joined_words) {
    ck_assert_str_eq(parse(VS_AXIS_LORA_TARGETS, "v+q").text, "q+v");
    ck_assert_str_eq(parse(VS_AXIS_LORA_TARGETS, "qv").text, "q+v");
    ck_assert_str_eq(parse(VS_AXIS_LORA_TARGETS, "down+qv").text, "q+v+down");
    ck_assert_str_eq(parse(VS_AXIS_LORA_TARGETS, "qkv").text, "qkv");
    check_refused(VS_AXIS_LORA_TARGETS, "q+q", "--x: 'q' stands twice in 'q+q', expected it once");
    check_refused(VS_AXIS_LORA_TARGETS, "qv+v",
                  "--x: 'v' stands twice in 'qv+v', expected it once");
    static const char *const WRONG[] = {"", "q+", "+q", "q++v", "w", "q,v"};
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        char message[160];
        (void)snprintf(message, sizeof message,
                       "--x: found '%s', expected one of q, k, v, o, gate, up, down, qkv, qv, all, "
                       "head, joined by '+'",
                       WRONG[i]);
        check_refused(VS_AXIS_LORA_TARGETS, WRONG[i], message);
    }
}
END_TEST

START_TEST(names) {
    ck_assert_str_eq(parse(VS_AXIS_HW, "rtx4090x2").text, "rtx4090x2");
    ck_assert_str_eq(parse(VS_AXIS_WEIGHTS, "gptq4:64").text, "gptq4:64");
    check_refused(VS_AXIS_HW, "", "--x: found nothing, expected a name");
    check_refused(VS_AXIS_HW, "a\nb", "--x: found a control character, expected a name");
    static char longer[5000];
    memset(longer, 'a', sizeof longer - 1);
    check_refused(VS_AXIS_HW, longer, "--x: found 4999 characters, expected at most 4096");
}
END_TEST

static void check_label(enum vs_axis axis, const char *text, const char *label) {
    struct vs_value value = parse(axis, text);
    ck_assert_str_eq(vs_axis_label(&arena, axis, &value), label);
}

START_TEST(labels) {
    check_label(VS_AXIS_CKPT, "full", "full checkpointing");
    check_label(VS_AXIS_CKPT, "every:4", "a checkpoint every 4 layers");
    check_label(VS_AXIS_OFFLOAD, "none", "");
    check_label(VS_AXIS_OFFLOAD, "stream", "layers streamed from RAM");
    check_label(VS_AXIS_GPU_LAYERS, "20", "20 layers on the GPU");
    check_label(VS_AXIS_GPU_LAYERS, "all", "");
    check_label(VS_AXIS_ZERO, "0", "");
    check_label(VS_AXIS_ZERO, "3", "ZeRO-3");
    check_label(VS_AXIS_LORA_RANK, "64", "rank 64");
    check_label(VS_AXIS_BATCH, "8", "batch 8");       /* no words of its own */
    check_label(VS_AXIS_KV, "fp16", "");              /* a baseline */
    check_label(VS_AXIS_KV, "q8_0", "kv q8_0");       /* not listed */
    check_label(VS_AXIS_WEIGHTS, "nf4-dq", "nf4-dq"); /* '@format': the caller knows the words */
    struct vs_value nothing = {0};
    ck_assert_str_eq(vs_axis_label(&arena, VS_AXIS_CKPT, &nothing), "");
}
END_TEST

START_TEST(shorthands) {
    struct vs_values v = {0};
    ck_assert(!vs_given(&v, VS_AXIS_SEQ));
    ck_assert_int_eq(vs_count(&v, VS_AXIS_SEQ), 0);
    ck_assert_double_eq(vs_real(&v, VS_AXIS_LORA_DROPOUT), 0);
    ck_assert(!vs_is(&v, VS_AXIS_CKPT, "full"));
    ck_assert(!vs_has_word(&v, VS_AXIS_LORA_TARGETS, "q"));
    v.at[VS_AXIS_SEQ] = parse(VS_AXIS_SEQ, "2k");
    v.at[VS_AXIS_LORA_DROPOUT] = parse(VS_AXIS_LORA_DROPOUT, "0.1");
    v.at[VS_AXIS_CKPT] = parse(VS_AXIS_CKPT, "every:2");
    v.at[VS_AXIS_KV] = parse(VS_AXIS_KV, "q8_0");
    v.at[VS_AXIS_LORA_TARGETS] = parse(VS_AXIS_LORA_TARGETS, "q+up");
    ck_assert(vs_given(&v, VS_AXIS_SEQ));
    ck_assert_int_eq(vs_count(&v, VS_AXIS_SEQ), 2048);
    ck_assert_double_eq(vs_real(&v, VS_AXIS_LORA_DROPOUT), 0.1);
    ck_assert(vs_is(&v, VS_AXIS_CKPT, "every"));
    ck_assert(!vs_is(&v, VS_AXIS_CKPT, "full"));
    ck_assert(vs_is(&v, VS_AXIS_KV, "q8_0")); /* names are read the same way */
    ck_assert(vs_has_word(&v, VS_AXIS_LORA_TARGETS, "q"));
    ck_assert(vs_has_word(&v, VS_AXIS_LORA_TARGETS, "up"));
    ck_assert(!vs_has_word(&v, VS_AXIS_LORA_TARGETS, "u"));
    ck_assert(!vs_has_word(&v, VS_AXIS_LORA_TARGETS, "q+up"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("axis");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, axes_are_found_by_name);
    tcase_add_test(tests, table_is_sound);
    tcase_add_test(tests, counts);
    tcase_add_test(tests, sizes_and_rates);
    tcase_add_test(tests, reals);
    tcase_add_test(tests, words);
    tcase_add_test(tests, joined_words);
    tcase_add_test(tests, names);
    tcase_add_test(tests, labels);
    tcase_add_test(tests, shorthands);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    vs_arena_release(&arena);
    return status;
}
