# VRAMSIM_COMMIT: the commit that this tree is at, for `vramsim --version` only; "unknown" outside a clone.
# Configured again when HEAD moves, so that the word is never stale.

set(VRAMSIM_COMMIT unknown)
find_program(VRAMSIM_GIT git)
mark_as_advanced(VRAMSIM_GIT)
if(VRAMSIM_GIT AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
    execute_process(
        COMMAND "${VRAMSIM_GIT}" rev-parse --short=12 --verify --quiet HEAD
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        OUTPUT_VARIABLE VRAMSIM_HEAD OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(
        COMMAND "${VRAMSIM_GIT}" rev-parse --git-path logs/HEAD
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        OUTPUT_VARIABLE VRAMSIM_HEAD_LOG OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(VRAMSIM_HEAD)
        set(VRAMSIM_COMMIT "${VRAMSIM_HEAD}")
    endif()
    if(VRAMSIM_HEAD_LOG)
        cmake_path(ABSOLUTE_PATH VRAMSIM_HEAD_LOG BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        if(EXISTS "${VRAMSIM_HEAD_LOG}")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${VRAMSIM_HEAD_LOG}")
        endif()
    endif()
endif()
