# Options and flags of this build. Nothing here reaches a project that uses the installed package.
find_package(GTest QUIET)
option(STOKER_BUILD_TESTS "Build the tests; by default where GoogleTest is" ${GTest_FOUND})
option(STOKER_UNIT_TESTS "With STOKER_BUILD_TESTS: those in C++, beside those that drive the program" ON)
option(STOKER_CUDA "Build the plug-in stoker_cuda where a CUDA toolkit is found" ON)
option(STOKER_UNITY "Compile the sources of a room as one: less time for a whole build" OFF)
option(STOKER_CORE_ALONE "Build what needs no LibTorch, and nothing else" OFF)
option(STOKER_PYTHON "Build the Python package (needs nanobind)" OFF)
option(STOKER_PORTABLE "Do without what only the newest libstdc++ has (for wheels)" OFF)
set(STOKER_SANITIZE "" CACHE STRING "Sanitizer: address (with undefined), thread or none")
set_property(CACHE STOKER_SANITIZE PROPERTY STRINGS "" address thread)

option(STOKER_SANITIZE_APP "With STOKER_SANITIZE=address: app and models as well" OFF)
# Sanitizers are for io, where the threads are and where bytes from outside are taken apart.
set(STOKER_IO_ALONE OFF)
if(STOKER_SANITIZE STREQUAL "thread" OR (STOKER_SANITIZE AND NOT STOKER_SANITIZE_APP))
  set(STOKER_IO_ALONE ON)
endif()

set(STOKER_FUZZ "" CACHE STRING
  "Build tests/fuzz for clang's libFuzzer alone: ON (address and undefined), fast (undefined) or memory")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

# Every target of the project links it, privately.
add_library(stoker_warnings INTERFACE)
target_compile_options(stoker_warnings INTERFACE -Wall -Wextra -Wpedantic
  $<$<COMPILE_LANGUAGE:CXX>:-Wsuggest-override> $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Errors with the compiler of .ci/run only: a newer one's new warnings must not stop a newcomer.
  # The last three give false alarms on inlined std::string operations (GCC bugs 105329, 105651).
  target_compile_options(stoker_warnings INTERFACE
    -Werror -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
endif()

if(STOKER_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  if(NOT STOKER_SANITIZE_APP)
    # A third of a build for what shows in another way: a null pointer ends the process, and AddressSanitizer sees bytes
    # that are no object's. STOKER_LONG=1 looks for these as well.
    list(APPEND sanitize -fno-sanitize=null,alignment,object-size,vptr,nonnull-attribute,returns-nonnull-attribute)
  endif()
elseif(STOKER_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(STOKER_SANITIZE)
  message(FATAL_ERROR "STOKER_SANITIZE=${STOKER_SANITIZE}: expected address, thread or nothing")
endif()
if(STOKER_SANITIZE)
  add_compile_options(${sanitize} -fno-omit-frame-pointer -O1 -g1)
  add_link_options(${sanitize})
  # GCC 12 warns falsely about the code that -fsanitize inserts.
  target_compile_options(stoker_warnings INTERFACE -Wno-maybe-uninitialized)
endif()

# GCC's default collects garbage more often than a machine with gigabytes needs: a tenth of a build.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches sources that use a precompiled header;
  # the base folder lets several clones share their objects; DEPEND saves preprocessing everything twice.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_DEPEND=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  # With a base folder, ccache hands "../io/x.cpp" to the compiler; __FILE__ is then "io/x.cpp".
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=../=>)
endif()
