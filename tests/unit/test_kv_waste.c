/* What of a KV cache holds no token, in numbers of tokens. The toy's cache takes 4096 bytes a
 * token: 4 layers of 4 heads of 64, K and V in 16 bit. */
#include "run/kv_waste.h"
#include "sim_helpers.h"

static void end(void) { sim_end(); }

static const struct vs_kv_waste *waste(const char *words) {
    const struct vs_outcome *o = sim_memory(words);
    ck_assert_ptr_nonnull(o->kv_waste);
    return o->kv_waste;
}

/* From 100 to 200 tokens of 1000: 150 on average, the other 850 are kept for later. */
START_TEST(contiguous) {
    const struct vs_kv_waste *w = waste(TOY_GENERATE "--prompt 100 --gen 100 --ctx 1000");
    ck_assert_double_eq(w->held_bytes, 1000 * 4096);
    ck_assert_double_eq(w->used_bytes, 150 * 4096);
    ck_assert_double_eq(w->reservation_bytes, 850 * 4096);
    ck_assert_double_eq(w->internal_bytes, 0);
    ck_assert_double_eq(w->external_bytes, 0);
    ck_assert_double_eq(w->outgrown_bytes, 0);
    w = waste(TOY_GENERATE "--prompt 100 --gen 100 --batch 3");
    ck_assert_double_eq(w->reservation_bytes, 3 * 50 * 4096);
}
END_TEST

/* llama.cpp pads 1000 cells to 1024. */
START_TEST(padded) {
    const struct vs_kv_waste *w = waste("--hw toy --model toy --engine llamacpp --task generate "
                                        "--weights fp16 --prompt 100 --gen 100 --ctx 1000");
    ck_assert_double_eq(w->internal_bytes, 24 * 4096);
    ck_assert_double_eq(w->reservation_bytes, 850 * 4096);
}
END_TEST

/* Growth by concatenation reserves nothing. While the last half of the last layer grows, its old
 * copy of 199 tokens is there too. */
START_TEST(growing) {
    const struct vs_kv_waste *w = waste(TOY_GENERATE "--prompt 100 --gen 100 --kv-alloc dynamic");
    ck_assert_double_eq(w->held_bytes, 150 * 4096);
    ck_assert_double_eq(w->used_bytes, 150 * 4096);
    ck_assert_double_eq(w->reservation_bytes, 0);
    ck_assert_double_eq(w->outgrown_bytes, 199 * 512);
    w = waste("--hw rtx4090 --model llama-2-7b --engine hf --task generate --weights fp16 --prompt "
              "500 --gen 100"); /* PyTorch's segments keep what was outgrown */
    ck_assert_double_gt(w->external_bytes, 0);
    ck_assert_double_ge(w->internal_bytes, 0);
    ck_assert_double_eq(w->reservation_bytes, 0);
}
END_TEST

/* Llama 3 8B, 131,072 bytes a token, blocks of 16: 33 tokens, and 34 at the end, fill three: 14.5
 * of 48 slots are empty, at most 15 of each sequence. */
START_TEST(paged) {
    const struct vs_kv_waste *w =
        waste("--hw a100 --model llama-3-8b --engine vllm --task generate "
              "--weights fp16 --prompt 33 --gen 1 --batch 4");
    ck_assert_double_eq(w->internal_bytes, 4 * 14.5 * 131072);
    ck_assert_double_eq(w->held_bytes, 4 * 48 * 131072.0);
    ck_assert_double_eq(w->reservation_bytes, 0);
    ck_assert_double_eq(w->external_bytes, 0);
}
END_TEST

/* Requests that are served have metrics of their own (kv_use, kv_waste); training has no cache. */
START_TEST(not_of_every_run) {
    ck_assert_ptr_null(sim_run("--hw h100-sxm --model llama-3-8b --engine vllm --task serve "
                               "--weights fp8 --prompt 500 --gen 100 --concurrency 8")
                           ->kv_waste);
    ck_assert_ptr_null(sim_memory(TOY_TRAIN)->kv_waste);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("KV waste");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, contiguous);
    tcase_add_test(tests, padded);
    tcase_add_test(tests, growing);
    tcase_add_test(tests, paged);
    tcase_add_test(tests, not_of_every_run);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
