/* Advice where a point doesn't fit: each change that is named makes it fit, alone; nothing is named
 * where the point fits, or was not asked for. */
#include <string.h>

#include "base/text.h"
#include "sim_helpers.h"

static const struct vs_run_options ASKED = {.capacity_only = true, .remedies = true};

static void end(void) { sim_end(); }

/* The option of this axis that is named, or NULL. */
static const char *named(const struct vs_outcome *o, const char *axis) {
    const char *start = vs_arena_printf(&sim_arena, "--%s ", axis);
    for (size_t i = 0; i < o->remedy_count; i++)
        if (vs_starts(o->remedies[i], start))
            return o->remedies[i];
    return NULL;
}

/* The point `base --axis word` doesn't fit: at least another word for the axis is named, and all
 * that is named holds. */
static void holds(const char *base, const char *axis, const char *word) {
    const char *words = vs_arena_printf(&sim_arena, "%s --%s %s", base, axis, word);
    const struct vs_outcome *o = sim_outcome(words, &ASKED);
    ck_assert(!o->fits);
    ck_assert_msg(named(o, axis) != NULL, "%s: --%s is not named", words, axis);
    for (size_t i = 0; i < o->remedy_count; i++) {
        bool own = o->remedies[i] == named(o, axis);
        const char *with = vs_arena_printf(&sim_arena, "%s %s", own ? base : words, o->remedies[i]);
        ck_assert_msg(sim_memory(with)->fits, "%s", with);
    }
}

START_TEST(changes_that_are_named_suffice) {
    holds("--hw rtx4090 --workload chat70b-q4", "offload", "none");
    holds("--hw rtx3060 --model llama-3-8b --task generate --engine llamacpp", "weights", "fp16");
    holds("--hw rtx3090 --model llama-3-8b --task train --engine hf --method lora", "ckpt", "none");
    holds("--hw rtx4090 --model llama-3.1-8b --task serve --engine vllm", "ctx", "131072");
    ck_assert_ptr_nonnull(
        named(sim_outcome("--hw rtx4090 --workload mixtral-chat", &ASKED), "experts-cpu"));
}
END_TEST

/* The workload gives the counts here, so that giving them again says another thing. */
START_TEST(counts_are_the_largest) {
    const char *words = "--hw rtx3060 --workload qlora8b --engine hf --ckpt none";
    const struct vs_outcome *o = sim_outcome(words, &ASKED);
    const char *seq = named(o, "seq");
    ck_assert(!o->fits);
    ck_assert_ptr_nonnull(seq);
    int64_t most = strtoll(seq + strlen("--seq "), NULL, 10);
    const char *at = vs_arena_printf(&sim_arena, "%s --seq %lld", words, (long long)most);
    const char *beyond = vs_arena_printf(&sim_arena, "%s --seq %lld", words, (long long)most + 1);
    ck_assert(sim_memory(at)->fits);
    ck_assert(!sim_memory(beyond)->fits);
}
END_TEST

START_TEST(nothing_to_say) {
    const struct vs_outcome *o = sim_outcome("--hw rtx4090 --workload chat8b", &ASKED);
    ck_assert(o->fits);
    ck_assert_ptr_null(o->remedies);
    o = sim_outcome("--hw rtx4090 --workload full7b-adamw --engine hf", &ASKED);
    ck_assert(!o->fits);
    ck_assert_ptr_nonnull(o->remedies);
    ck_assert_uint_eq(o->remedy_count, 0);
    o = sim_memory("--hw rtx4090 --workload chat70b-q4 --engine llamacpp");
    ck_assert(!o->fits);
    ck_assert_ptr_null(o->remedies);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("remedy");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, changes_that_are_named_suffice);
    tcase_add_test(tests, counts_are_the_largest);
    tcase_add_test(tests, nothing_to_say);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
