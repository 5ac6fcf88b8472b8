# stoker_torch_sources(SOURCE...): sources of libstoker that include LibTorch. They share one
# precompiled header (its headers take longer to compile than any source of ours); all other sources
# are compiled without it.
function(stoker_torch_sources)
  target_sources(stoker PRIVATE ${ARGN})
  set_property(TARGET stoker APPEND PROPERTY STOKER_TORCH_SOURCES ${ARGN})
endfunction()

# Called once, after all folders have been added.
function(stoker_precompile_torch)
  get_target_property(with stoker STOKER_TORCH_SOURCES)
  get_target_property(without stoker SOURCES)
  list(REMOVE_ITEM without ${with})
  set_source_files_properties(${without} TARGET_DIRECTORY stoker
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_precompile_headers(stoker PRIVATE <torch/nn/module.h> <torch/types.h>)
endfunction()
