# Writes OUTPUT from version.h.in; run at each build, touches the file only if something changed.
set(STOKER_REVISION unknown)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=*
  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failure)
if(NOT failure)
  set(STOKER_REVISION ${revision})
endif()
if(DEFINED ENV{STOKER_REVISION})  # of an image, which has no git
  set(STOKER_REVISION $ENV{STOKER_REVISION})
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${OUTPUT} @ONLY)
