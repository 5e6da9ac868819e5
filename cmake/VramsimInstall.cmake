# What `cmake --install` puts into a prefix: the program, the library (static unless BUILD_SHARED_LIBS) with its
# header, pkg-config file and CMake package, the data, and the documents that are made from the option tables.

include(CMakePackageConfigHelpers)

# The library: its public face is sim/vramsim.h alone, copied so that whoever adds this project as a subdirectory
# sees no other header either.
set(VRAMSIM_PUBLIC_INCLUDE "${PROJECT_BINARY_DIR}/include")
configure_file(sim/vramsim.h "${VRAMSIM_PUBLIC_INCLUDE}/vramsim.h" COPYONLY)
add_library(vramsim_library $<TARGET_OBJECTS:vramsim_sim> $<TARGET_OBJECTS:vramsim_data_installed>)
add_library(vramsim::vramsim ALIAS vramsim_library)
target_include_directories(vramsim_library INTERFACE
    "$<BUILD_INTERFACE:${VRAMSIM_PUBLIC_INCLUDE}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(vramsim_library PRIVATE
    $<BUILD_INTERFACE:vramsim_flags> ${VRAMSIM_LIBRARIES})
set_target_properties(vramsim_library PROPERTIES
    OUTPUT_NAME vramsim
    EXPORT_NAME vramsim
    LINKER_LANGUAGE C
    PUBLIC_HEADER sim/vramsim.h
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}") # no stable ABI before 1.0

# The program to install differs from the one that runs here in data.c only. It links the objects, not the
# library, which hides everything that the command needs.
add_executable(vramsim_installed sim/cli/main.c
    $<TARGET_OBJECTS:vramsim_sim> $<TARGET_OBJECTS:vramsim_cli> $<TARGET_OBJECTS:vramsim_data_installed>)
target_include_directories(vramsim_installed PRIVATE "${PROJECT_SOURCE_DIR}/sim")
target_link_libraries(vramsim_installed PRIVATE
    vramsim_flags ${VRAMSIM_LIBRARIES})
set_target_properties(vramsim_installed PROPERTIES
    OUTPUT_NAME vramsim
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/installed")

set(VRAMSIM_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/vramsim")
set(VRAMSIM_DATA_DIR "${CMAKE_INSTALL_DATADIR}/vramsim")
install(TARGETS vramsim_installed RUNTIME)
install(TARGETS vramsim_library EXPORT vramsim LIBRARY ARCHIVE PUBLIC_HEADER)
install(EXPORT vramsim NAMESPACE vramsim:: FILE vramsimTargets.cmake DESTINATION "${VRAMSIM_PACKAGE_DIR}")

# CMake package. A static library leaves its own libraries to the program that links it.
get_target_property(VRAMSIM_LIBRARY_TYPE vramsim_library TYPE)
if(VRAMSIM_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
    set(VRAMSIM_IS_STATIC TRUE)
    set(VRAMSIM_PC_REQUIRES "Requires: gsl >= 2.5, libcjson >= 1.7, zlib >= 1.2, libzstd >= 1.4")
    set(VRAMSIM_PC_LIBS "${CMAKE_THREAD_LIBS_INIT} -lm")
else()
    set(VRAMSIM_IS_STATIC FALSE)
    set(VRAMSIM_PC_REQUIRES "Requires.private: gsl >= 2.5, libcjson >= 1.7, zlib >= 1.2, libzstd >= 1.4")
    set(VRAMSIM_PC_LIBS "")
endif()
configure_package_config_file(cmake/vramsimConfig.cmake.in "${PROJECT_BINARY_DIR}/vramsimConfig.cmake"
    INSTALL_DESTINATION "${VRAMSIM_PACKAGE_DIR}"
    PATH_VARS VRAMSIM_DATA_DIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vramsimConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/vramsimConfig.cmake" "${PROJECT_BINARY_DIR}/vramsimConfigVersion.cmake"
    DESTINATION "${VRAMSIM_PACKAGE_DIR}")

# pkg-config: all paths follow the file, so that a prefix may be moved.
file(RELATIVE_PATH VRAMSIM_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" VRAMSIM_PC_PREFIX "${VRAMSIM_PC_PREFIX}")
foreach(dir LIBDIR INCLUDEDIR DATADIR) # which may be absolute
    set(VRAMSIM_PC_${dir} "\${prefix}")
    cmake_path(APPEND VRAMSIM_PC_${dir} "${CMAKE_INSTALL_${dir}}")
endforeach()
configure_file(cmake/vramsim.pc.in "${PROJECT_BINARY_DIR}/vramsim.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/vramsim.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Data, without what explains or makes them.
install(DIRECTORY hwprofiles workloads DESTINATION "${VRAMSIM_DATA_DIR}"
    REGEX "\\.(md|py|sh|awk)$" EXCLUDE)
install(DIRECTORY reports/plots reports/html DESTINATION "${VRAMSIM_DATA_DIR}/reports"
    FILES_MATCHING PATTERN "*.gp" PATTERN "*.gpi" PATTERN "*.html")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# The manual page and the completions come from a program, which must run here.
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    message(STATUS "manual page and completions: off (cross compiling without an emulator)")
    return()
endif()
add_executable(vramsim_docs sim/cli/docs_main.c)
target_link_libraries(vramsim_docs PRIVATE vramsim_core)
set(VRAMSIM_DOCS "${PROJECT_BINARY_DIR}/docs")
file(MAKE_DIRECTORY "${VRAMSIM_DOCS}")
add_custom_command(
    OUTPUT "${VRAMSIM_DOCS}/vramsim.1" "${VRAMSIM_DOCS}/vramsim.bash" "${VRAMSIM_DOCS}/_vramsim"
    COMMAND vramsim_docs "${VRAMSIM_DOCS}"
    DEPENDS vramsim_docs
    COMMENT "Manual page and completions" VERBATIM)
add_custom_target(vramsim_documents ALL
    DEPENDS "${VRAMSIM_DOCS}/vramsim.1" "${VRAMSIM_DOCS}/vramsim.bash" "${VRAMSIM_DOCS}/_vramsim")
install(FILES "${VRAMSIM_DOCS}/vramsim.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${VRAMSIM_DOCS}/vramsim.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME vramsim)
install(FILES "${VRAMSIM_DOCS}/_vramsim" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
