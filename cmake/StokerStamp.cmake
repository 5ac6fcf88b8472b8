# STOKER_PLUGIN_STAMP: what must be equal between the program and a plug-in.
file(STRINGS ${PROJECT_SOURCE_DIR}/io/core/plugin.h abi REGEX "^#define STOKER_ABI [0-9]+$")
string(REGEX MATCH "[0-9]+" STOKER_ABI "${abi}")
set(STOKER_CXX "${CMAKE_CXX_COMPILER_ID}")
if(STOKER_CXX STREQUAL "GNU")
  set(STOKER_CXX gxx)
endif()
string(TOLOWER "${STOKER_CXX}" STOKER_CXX)
# Semicolons are escaped: this is one compile definition and not a list.
set(STOKER_PLUGIN_STAMP "abi=${STOKER_ABI}\\;${STOKER_CXX}=${CMAKE_CXX_COMPILER_VERSION}\\;torch=\
${StokerTorch_VERSION}\\;cxx11abi=1\\;")
