/* What every test program ends with. */
#ifndef VS_TESTS_SUITE_H
#define VS_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/* Runs a suite in this process, so that sanitizers and debuggers see it; the exit status. */
static inline int run_suite(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
