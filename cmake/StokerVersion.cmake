# <stoker_version.h> for the program: versions of this build. The revision is read at each build.
set(compiler ${CMAKE_CXX_COMPILER_ID})
if(compiler STREQUAL "GNU")
  set(compiler GCC)
endif()
set(build_type ${CMAKE_BUILD_TYPE})
if(STOKER_SANITIZE)
  string(APPEND build_type "+${STOKER_SANITIZE}")
endif()
set(write_version ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR}
  -DOUTPUT=${PROJECT_BINARY_DIR}/generated/stoker_version.h
  -DSTOKER_VERSION=${PROJECT_VERSION} "-DSTOKER_COMPILER=${compiler} ${CMAKE_CXX_COMPILER_VERSION}"
  -DSTOKER_BUILD_TYPE=${build_type} -DSTOKER_TORCH_VERSION=${StokerTorch_VERSION}
  -P ${PROJECT_SOURCE_DIR}/cmake/version.cmake)
execute_process(COMMAND ${write_version})
add_custom_target(stoker_version COMMAND ${write_version} VERBATIM
  COMMENT "" BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/stoker_version.h)
add_dependencies(stoker stoker_version)
target_include_directories(stoker PRIVATE ${PROJECT_BINARY_DIR}/generated)
