# stoker_add_plugin(NAME [CORE] SOURCE...): a plug-in of stoker as lib/stoker/NAME.so under the build
# folder, with the stamp that stoker checks before it loads it. CORE: it has components of the core's
# kinds only (storage, data sets, decoders, loaders, checkpointers, sinks) and uses no LibTorch. Serves
# this tree and, through find_package(stoker), any other. Link what else the plug-in needs with
# target_link_libraries.
set(STOKER_PLUGIN_STAMP_SOURCE ${CMAKE_CURRENT_LIST_DIR}/plugin_stamp.cpp)

function(stoker_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "CORE" "" "")
  add_library(${name} MODULE ${plugin_UNPARSED_ARGUMENTS} ${STOKER_PLUGIN_STAMP_SOURCE})
  if(plugin_CORE)
    set(stamp "${STOKER_CORE_STAMP}")
    target_link_libraries(${name} PRIVATE stoker::stoker_core)
  else()
    set(stamp "${STOKER_TORCH_STAMP}")
    target_link_libraries(${name} PRIVATE stoker::stoker)
  endif()
  target_compile_definitions(${name} PRIVATE "STOKER_PLUGIN_STAMP=\"${stamp}\"")
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/stoker)
  if(TARGET stoker_all)
    add_dependencies(stoker_all ${name})
  endif()
endfunction()
