# Target `coverage`: runs the tests of this build and prints the line coverage of sim/.

set(VRAMSIM_COVERAGE_MIN 85 CACHE STRING "Least line coverage of sim/ in percent")
find_program(VRAMSIM_GCOVR gcovr)
mark_as_advanced(VRAMSIM_GCOVR)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    set(VRAMSIM_GCOV llvm-cov gcov)
else()
    set(VRAMSIM_GCOV gcov)
endif()

if(VRAMSIM_GCOVR)
    add_custom_target(coverage
        # Counts of an earlier run, or of a file that changed since, would be added to this one's.
        COMMAND find "${PROJECT_BINARY_DIR}" -name "*.gcda" -delete
        # A failing test is ctest's news; what the others cover is still to be seen.
        COMMAND "${CMAKE_CTEST_COMMAND}" --output-on-failure --parallel 4 --label-exclude tidy
                || "${CMAKE_COMMAND}" -E echo "coverage: not all tests passed"
        COMMAND sh "${PROJECT_SOURCE_DIR}/tests/coverage.sh"
                "${PROJECT_BINARY_DIR}" "${VRAMSIM_COVERAGE_MIN}" ${VRAMSIM_GCOV}
        WORKING_DIRECTORY "${PROJECT_BINARY_DIR}"
        USES_TERMINAL VERBATIM)
    add_dependencies(coverage vramsim)
    if(VRAMSIM_TESTS)
        add_dependencies(coverage vramsim_tests)
    endif()
else()
    add_custom_target(coverage
        COMMAND "${CMAKE_COMMAND}" -E echo "coverage: gcovr is not installed (apt-get install gcovr)"
        COMMAND "${CMAKE_COMMAND}" -E false
        VERBATIM)
endif()
