# STOKER_CORE_STAMP, STOKER_TORCH_STAMP: what must be equal between the program and a plug-in without
# LibTorch, or with it.
file(STRINGS ${PROJECT_SOURCE_DIR}/io/core/config/plugin.h abi REGEX "^#define STOKER_ABI [0-9]+$")
string(REGEX MATCH "[0-9]+" STOKER_ABI "${abi}")
set(STOKER_CXX "${CMAKE_CXX_COMPILER_ID}")
if(STOKER_CXX STREQUAL "GNU")
  set(STOKER_CXX gxx)
endif()
string(TOLOWER "${STOKER_CXX}" STOKER_CXX)
# Semicolons are escaped: each is one compile definition and not a list.
set(stamp "abi=${STOKER_ABI}\\;${STOKER_CXX}=${CMAKE_CXX_COMPILER_VERSION}\\;")
set(STOKER_CORE_STAMP "${stamp}cxx11abi=1\\;")
set(STOKER_TORCH_STAMP "${stamp}torch=${StokerTorch_VERSION}\\;cxx11abi=1\\;")
