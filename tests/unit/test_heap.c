#include <stdlib.h>

#include "des/heap.h"
#include "des/lines.h"
#include "unit/suite.h"

static void set(struct vs_heap *heap, int64_t time_ps, uint32_t order, uint32_t id) {
    vs_heap_set(heap, (struct vs_heap_key){.time_ps = time_ps, .order = order, .id = id});
}

/* Events at 7, 5, 5 come out as the two at 5 in their order, then 7. */
START_TEST(earliest_then_lowest_order) {
    struct vs_heap heap = {0};
    ck_assert(vs_heap_reserve(&heap, 3));
    set(&heap, 7, 0, 0);
    set(&heap, 5, 2, 1);
    set(&heap, 5, 1, 2);
    ck_assert_uint_eq(heap.count, 3);
    ck_assert_uint_eq(vs_heap_top(&heap).id, 2);
    ck_assert_uint_eq(vs_heap_pop(&heap).id, 2);
    ck_assert_uint_eq(vs_heap_pop(&heap).id, 1);
    ck_assert_uint_eq(vs_heap_pop(&heap).id, 0);
    ck_assert_uint_eq(heap.count, 0);
    vs_heap_release(&heap);
}
END_TEST

/* An owner has one event: setting it again moves it, earlier or later. */
START_TEST(set_moves) {
    struct vs_heap heap = {0};
    ck_assert(vs_heap_reserve(&heap, 3));
    set(&heap, 10, 0, 0);
    set(&heap, 20, 1, 1);
    set(&heap, 30, 2, 2);
    set(&heap, 5, 2, 2);
    set(&heap, 40, 0, 0);
    ck_assert_uint_eq(heap.count, 3);
    ck_assert_uint_eq(vs_heap_pop(&heap).id, 2);
    ck_assert_uint_eq(vs_heap_pop(&heap).id, 1);
    const struct vs_heap_key last = vs_heap_pop(&heap);
    ck_assert_uint_eq(last.id, 0);
    ck_assert_int_eq(last.time_ps, 40);
    vs_heap_release(&heap);
}
END_TEST

/* Growing keeps what is there; clearing forgets it, and ids can be used again. */
START_TEST(reserve_and_clear) {
    struct vs_heap heap = {0};
    ck_assert(vs_heap_reserve(&heap, 1));
    set(&heap, 3, 0, 0);
    ck_assert(vs_heap_reserve(&heap, 1000));
    set(&heap, 2, 1, 999);
    ck_assert_uint_eq(vs_heap_top(&heap).id, 999);
    vs_heap_clear(&heap);
    ck_assert_uint_eq(heap.count, 0);
    set(&heap, 9, 0, 999);
    ck_assert_uint_eq(heap.count, 1);
    ck_assert_int_eq(vs_heap_pop(&heap).time_ps, 9);
    ck_assert(!vs_heap_reserve(&heap, (size_t)1 << 40));
    vs_heap_release(&heap);
}
END_TEST

enum { MANY = 500, STEPS = 20000 };

/* Against a scan of an array: random sets, moves and pops. */
START_TEST(agrees_with_a_scan) {
    struct vs_heap heap = {0};
    int64_t times[MANY];
    uint64_t state = 1;
    ck_assert(vs_heap_reserve(&heap, MANY));
    for (int i = 0; i < MANY; i++)
        times[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const uint32_t id = (uint32_t)(state >> 33) % MANY;
        if ((state >> 60) > 5 || heap.count == 0) {
            times[id] = (int64_t)(state >> 40) % 1000;
            set(&heap, times[id], id, id);
            continue;
        }
        int first = -1;
        for (int i = 0; i < MANY; i++)
            if (times[i] >= 0 && (first < 0 || times[i] < times[first]))
                first = i;
        ck_assert_int_eq((int)vs_heap_pop(&heap).id, first);
        times[first] = -1;
    }
    vs_heap_release(&heap);
}
END_TEST

START_TEST(lines_grow) {
    int *numbers = NULL;
    size_t room = 0;
    ck_assert(vs_lines_grow(&numbers, &room, 3, sizeof *numbers));
    ck_assert_uint_ge(room, 3);
    ck_assert_uint_eq((uintptr_t)numbers % VS_LINE_BYTES, 0);
    numbers[2] = 42;
    int *before = numbers;
    ck_assert(vs_lines_grow(&numbers, &room, 2, sizeof *numbers));
    ck_assert_ptr_eq(numbers, before);
    ck_assert(vs_lines_grow(&numbers, &room, 1000, sizeof *numbers));
    ck_assert_int_eq(numbers[2], 42);
    const size_t kept = room;
    ck_assert(!vs_lines_grow(&numbers, &room, SIZE_MAX / 2, sizeof *numbers));
    ck_assert_uint_eq(room, kept);
    ck_assert_int_eq(numbers[2], 42);
    free(numbers);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("heap");
    TCase *tests = tcase_create("heap");
    tcase_add_test(tests, earliest_then_lowest_order);
    tcase_add_test(tests, set_moves);
    tcase_add_test(tests, reserve_and_clear);
    tcase_add_test(tests, agrees_with_a_scan);
    tcase_add_test(tests, lines_grow);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
