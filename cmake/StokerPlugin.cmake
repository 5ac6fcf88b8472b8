# stoker_add_plugin(NAME SOURCE...): a plug-in of stoker as lib/stoker/NAME.so under the build
# folder, with the stamp that stoker checks before it loads it. Serves this tree and, through
# find_package(stoker), any other. Link what else the plug-in needs with target_link_libraries.
set(STOKER_PLUGIN_STAMP_SOURCE ${CMAKE_CURRENT_LIST_DIR}/plugin_stamp.cpp)

function(stoker_add_plugin name)
  add_library(${name} MODULE ${ARGN} ${STOKER_PLUGIN_STAMP_SOURCE})
  target_link_libraries(${name} PRIVATE stoker::stoker)
  set_source_files_properties(${STOKER_PLUGIN_STAMP_SOURCE} PROPERTIES
    COMPILE_DEFINITIONS "STOKER_PLUGIN_STAMP=\"${STOKER_PLUGIN_STAMP}\"")
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/stoker)
  if(TARGET stoker_all)
    add_dependencies(stoker_all ${name})
  endif()
endfunction()
