/* Words: quantities, formats, names, options and lists of them, shell words, columns and filters of
 * case files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data.h"
#include "base/units.h"
#include "engine/engine.h"
#include "fuzz/fuzz.h"
#include "model/format.h"
#include "work/options.h"

static struct vs_arena arena; /* of a round */

#define COUNT_OF(list) (sizeof(list) / sizeof *(list))

/* Good words, which are changed. */
static const char *const QUANTITIES[] = {
    "24GiB", "500MB", "2e8B", "1024", "900GB/s", "25GiB/s", "200Gb/s", "165.2TFLOPS", "2GFLOPS",
    "0.35s", "10us",  "40ns", "8k",   "2048",    "1M",      "0.5",     "1.5 KiB",     "-3",
};
static const char *const FORMATS[] = {
    "fp16", "q4_k_m", "nf4-dq", "gptq4:128", "exl2:4.25", "gguf:5.5", "mxfp4", "iq4_xs", "fp8",
};
static const char *const LINES[] = {
    "--hw rtx4090 --workload qlora70b --weights nf4,nf4-dq --ckpt none,every:4",
    "--hw rtx4090x2+rtx3090 --model llama-3-8b --engine llamacpp --task generate -ngl 20",
    "--hw a100 --set device.memory.bandwidth=900GB/s --ctx 8k,16k --batch=1,2,4 --ram 64GiB",
    "--model mixtral-8x7b --override-tensor 'blk.[0-9].ffn_.*=CPU,exps=CUDA0' --tensor-split 3,1",
    "--method qlora --lora-targets q+k+v+o --lora-save embed+head --lora-rank 16 --optim adamw",
    "--hw 'a b' --host \"x\\\"y\" --link pcie4x16 --kv q8_0 --gpu-util .9 --cuda-graphs off",
};
static const char *const PIECES[] = {
    "--",     "-ngl", ",",    "+",  ":",     "=",    "x2",    "all",  "auto",
    "every:", "'",    "\"",   "\\", "--set", "--hw", "--ctx", "1e30", "-1",
    "0",      "KiB",  "GB/s", "k",  "GiB/s", "NaN",  "inf",   "%s",   "  ",
};

static const char *changed(const char *word, struct vs_text *text) {
    vs_text_add(text, word);
    fuzz_mutate(text, PIECES, COUNT_OF(PIECES));
    return vs_text_str(text);
}

static void require(bool holds, const char *word, const char *what) {
    const struct vs_err err = {.status = VS_OK};
    if (!holds) {
        printf("'%s'\n", word);
        fuzz_check(false, &err, what);
    }
}

/* What a parser takes is finite, what it refuses has a reason. */
static void check_number(bool done, double number, const char *why, const char *word) {
    require(!done || isfinite(number), word, "a number that is none");
    require(done || why[0] != '\0', word, "refused without a reason");
}

static void check_quantity(const char *word) {
    char out[VS_UNIT_TEXT], why[VS_WHY_SIZE] = "";
    uint64_t bytes = 0, again = 0;
    int64_t count = 0;
    double x = 0;
    if (vs_parse_bytes(word, &bytes, why)) {
        (void)snprintf(out, sizeof out, "%llu", (unsigned long long)bytes);
        require(vs_parse_bytes(out, &again, why) && again == bytes, word, "bytes that change");
        (void)vs_print_bytes(out, bytes);
    }
    check_number(vs_parse_rate(word, &x, why), x, why, word);
    (void)vs_print_rate(out, x);
    check_number(vs_parse_flops(word, &x, why), x, why, word);
    check_number(vs_parse_seconds(word, &x, why), x, why, word);
    (void)vs_print_seconds(out, x);
    check_number(vs_parse_number(word, &x, why), x, why, word);
    (void)vs_print_speed(out, x);
    (void)vs_print_g9(out, x);
    if (vs_parse_count(word, &count, why))
        (void)vs_print_tokens(out, (uint64_t)count);
}

static void check_format(const char *word) {
    struct vs_format format;
    struct vs_err err = {.status = VS_OK};
    fuzz_check(vs_format_parse(word, &format, &err), &err, word);
}

/* A name among files; what no file has gets the nearest. */
static void check_name(const char *word) {
    static const char *const folders[] = {"hwprofiles/devices", "workloads/models", "workloads"};
    const char *path = NULL;
    struct vs_err err = {.status = VS_OK};
    fuzz_check(
        vs_data_find(&arena, folders[fuzz_below(COUNT_OF(folders))], "thing", word, &path, &err),
        &err, word);
}

static const char *any_value(enum vs_axis axis) {
    size_t count = 0;
    char **words = vs_split(&arena, vs_axis_info(axis)->words, ' ', &count);
    if (!words)
        exit(2);
    return words[0][0] == '\0' || fuzz_below(2) ? QUANTITIES[fuzz_below(COUNT_OF(QUANTITIES))]
                                                : words[fuzz_below(count)];
}

static void check_axis(enum vs_axis axis, const char *word) {
    struct vs_value value, again;
    struct vs_err err = {.status = VS_OK};
    const bool done = vs_axis_parse(&arena, axis, word, "--axis", &value, &err);
    fuzz_check(done, &err, word);
    if (!done)
        return;
    require(vs_axis_label(&arena, axis, &value) != NULL, word, "a label");
    require(vs_axis_parse(&arena, axis, value.text, "--axis", &again, &err) &&
                vs_streq(value.text, again.text),
            word, "a canonical text that isn't");
}

static void check_line(const char *line) {
    static struct vs_grid grid;
    static struct vs_values values;
    const struct vs_option_rules rules = {.lists = fuzz_below(2)};
    struct vs_err err = {.status = VS_OK};
    char **list = NULL;
    size_t count = 0;
    grid = (struct vs_grid){.set_count = 0};
    fuzz_check(
        vs_shell_split(&arena, line, &list, &count, &err) &&
            vs_options_parse(&arena, (const char *const *)list, count, &rules, &grid, &err) &&
            vs_grid_point(&grid, &values, &err),
        &err, line);
}

/* Any two words have an order. */
static void check_versions(const char *word) {
    struct vs_text text = {0};
    const char *other = changed("1.10.0rc2.post1", &text);
    const int order = vs_version_compare(word, other);
    const int reverse = vs_version_compare(other, word);
    require((order > 0) == (reverse < 0) && (order == 0) == (reverse == 0), word,
            "an order that depends on the side");
    vs_text_release(&text);
}

static void one_round(void) {
    struct vs_text text = {0};
    enum vs_axis axis;
    vs_arena_reset(&arena);
    switch (fuzz_below(6)) {
    case 0:
        check_quantity(changed(QUANTITIES[fuzz_below(COUNT_OF(QUANTITIES))], &text));
        break;
    case 1:
        check_format(changed(FORMATS[fuzz_below(COUNT_OF(FORMATS))], &text));
        break;
    case 2:
        check_name(changed(fuzz_below(2) ? "rtx4090" : "llama-3-8b", &text));
        break;
    case 3:
        axis = (enum vs_axis)fuzz_below(VS_AXIS_COUNT);
        check_axis(axis, changed(any_value(axis), &text));
        break;
    case 4:
        check_versions(changed("0.17.1", &text));
        break;
    default:
        check_line(changed(LINES[fuzz_below(COUNT_OF(LINES))], &text));
        break;
    }
    vs_text_release(&text);
}

int main(int count, char **words) {
    const int status = fuzz_main(count, words, one_round);
    vs_arena_release(&arena);
    return status;
}
