/* Accelerate's own answers (huggingface/accelerate: tests/test_modeling_utils.py @16cb6eb; rows
 * ACC-020 to ACC-024 and ACC-026 of tests/measured/fixtures.csv): linear1 64, batchnorm 72, linear2
 * 100 bytes, alone or in three blocks. */
#include <check.h>
#include <stdlib.h>

#include "plan/rules/device_map.h"

#define BLOCK 64, 72, 100

struct map {
    double bytes[9], room[3];
    size_t modules, devices;
    uint8_t place[9];
};

START_TEST(answers) {
    static const struct map MAPS[] = {
        /* the first keeps room for 100, the second does not */
        {{BLOCK}, {200, 200}, 3, 2, {0, 1, 1}},
        /* 72 and 100 are just 172 */
        {{BLOCK}, {200, 172, 200}, 3, 3, {0, 1, 1}},
        /* tied matrices are one */
        {{64, 72}, {200, 200}, 2, 2, {0, 0}},
        /* blocks that may be split, and those that may not */
        {{BLOCK, BLOCK, BLOCK}, {500, 500}, 9, 2, {0, 0, 0, 0, 0, 1, 1, 1, 1}},
        {{236, 236, 236}, {500, 500}, 3, 2, {0, 1, 1}},
        /* the host takes the rest: buffers count too */
        {{64 + 80, 72 + 160, 100 + 120}, {400, 1e9}, 3, 2, {0, 1, 1}},
        /* what fits nowhere is the last one's */
        {{BLOCK}, {50, 60}, 3, 2, {1, 1, 1}},
    };
    for (size_t i = 0; i < sizeof MAPS / sizeof *MAPS; i++) {
        uint8_t place[9];
        vs_device_map(MAPS[i].bytes, MAPS[i].modules, MAPS[i].room, MAPS[i].devices, place);
        for (size_t k = 0; k < MAPS[i].modules; k++)
            ck_assert_msg(place[k] == MAPS[i].place[k], "map %zu, module %zu: on %u", i, k,
                          place[k]);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device_map");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, answers);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
