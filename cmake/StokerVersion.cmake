# <stoker_version.h> for the program: versions of this build. The revision is read again at a build
# when a source, the index or the checked-out commit has changed.
set(compiler ${CMAKE_CXX_COMPILER_ID})
if(compiler STREQUAL "GNU")
  set(compiler GCC)
endif()
set(build_type ${CMAKE_BUILD_TYPE})
if(STOKER_SANITIZE)
  string(APPEND build_type "+${STOKER_SANITIZE}")
endif()
set(version_header ${PROJECT_BINARY_DIR}/generated/stoker_version.h)

file(GLOB_RECURSE watched ${PROJECT_SOURCE_DIR}/app/*.h ${PROJECT_SOURCE_DIR}/app/*.cpp
  ${PROJECT_SOURCE_DIR}/io/*.h ${PROJECT_SOURCE_DIR}/io/*.cpp
  ${PROJECT_SOURCE_DIR}/models/*.h ${PROJECT_SOURCE_DIR}/models/*.cpp)
foreach(file index logs/HEAD)
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --git-path ${file}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failure)
  get_filename_component(path "${path}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
  if(NOT failure AND EXISTS ${path})
    list(APPEND watched ${path})
  endif()
endforeach()

add_custom_command(OUTPUT ${version_header} DEPENDS ${watched} VERBATIM
  COMMENT "Reading the revision"
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${version_header}
    -DSTOKER_VERSION=${PROJECT_VERSION}
    "-DSTOKER_COMPILER=${compiler} ${CMAKE_CXX_COMPILER_VERSION}"
    -DSTOKER_BUILD_TYPE=${build_type} -DSTOKER_TORCH_VERSION=${StokerTorch_VERSION}
    -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake)
add_custom_target(stoker_version DEPENDS ${version_header})
# Rooms that include it: stoker_room() adds the folder to where they look.
