# Where the sources of the shared library go: those that include LibTorch into stoker_torch, all others
# into stoker itself. Each has a precompiled header of what most of its sources include.
set(headers <algorithm> <filesystem> <fmt/format.h> <functional> <map> <nlohmann/json.hpp> <string> <vector>)
target_precompile_headers(stoker PRIVATE ${headers})

add_library(stoker_torch OBJECT)
target_link_libraries(stoker_torch PRIVATE StokerTorch::torch stoker_warnings stoker_dependencies)
target_include_directories(stoker_torch PRIVATE ${PROJECT_SOURCE_DIR})
target_precompile_headers(stoker_torch PRIVATE ${headers} <ATen/Context.h> <ATen/core/Tensor.h>)

# Called once, after all folders have been added. With STOKER_UNITY, the sources of a folder are compiled
# as one; not kernels for one set of instructions, which have the names of those for another.
function(stoker_finish_sources)
  foreach(target stoker stoker_torch)
    get_target_property(sources ${target} SOURCES)
    foreach(source ${sources})
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
      cmake_path(GET folder PARENT_PATH folder)
      string(MAKE_C_IDENTIFIER "${folder}" folder)
      if(NOT source MATCHES "_avx")
        set_source_files_properties(${source} TARGET_DIRECTORY ${target}
          PROPERTIES UNITY_GROUP ${folder})
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${STOKER_UNITY} UNITY_BUILD_MODE GROUP)
  endforeach()
  target_sources(stoker PRIVATE $<TARGET_OBJECTS:stoker_torch>)
endfunction()
