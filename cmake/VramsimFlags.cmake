# vramsim_flags: how every C file of the project is compiled.

add_library(vramsim_flags INTERFACE)
target_compile_features(vramsim_flags INTERFACE c_std_17)
set(CMAKE_C_EXTENSIONS OFF)
target_compile_definitions(vramsim_flags INTERFACE _POSIX_C_SOURCE=200809L)

# No contraction into fused multiply-add: gcc does it by default where the processor has it and clang only
# within an expression, and then two builds of the same source print different digits.
target_compile_options(vramsim_flags INTERFACE -ffp-contract=off)

target_compile_options(vramsim_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wformat=2 -Wundef -Wvla
    -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wcast-qual)
if(VRAMSIM_WERROR)
    target_compile_options(vramsim_flags INTERFACE -Werror)
endif()

if(VRAMSIM_SANITIZE)
    set(VRAMSIM_SANITIZERS -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
    target_compile_options(vramsim_flags INTERFACE ${VRAMSIM_SANITIZERS} -fno-omit-frame-pointer)
    target_link_options(vramsim_flags INTERFACE ${VRAMSIM_SANITIZERS})
endif()
if(VRAMSIM_LIBFUZZER)
    target_compile_options(vramsim_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(VRAMSIM_COVERAGE)
    # Sweeps run on several threads, which would lose counts of each other.
    target_compile_options(vramsim_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(vramsim_flags INTERFACE --coverage)
endif()
