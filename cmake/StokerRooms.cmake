# The walls of the project. A room is a folder with one subject; a library is made of rooms.
#
#   stoker_library(NAME [PLUGIN types...] [REQUIRES libs...])
#     A shared library. PLUGIN: it lies in lib/stoker and is loaded when one of these types is used and
#     nobody has registered it ("decoder:opencv"), or when a tool's command is called ("command:bench").
#     REQUIRES: without one of these foreign libraries neither it nor its rooms are built. Its types stay
#     known: using one is an error that names the plug-in.
#   stoker_room(FOLDER [TORCH] [COLD] IN library [NEEDS rooms...] [LIBRARIES libs...] SOURCES files...)
#     TORCH: its sources may include LibTorch. COLD: what runs once a step or more rarely, compiled with
#     less optimisation. NEEDS: all other rooms whose headers it may include; tests/style_test.py
#     compares that with what it does include, and the linker with what it calls. LIBRARIES: foreign ones,
#     by the names of StokerDependencies.cmake.
#   stoker_finish_rooms()
#     Once, after all rooms: each library is linked with the libraries of the rooms that its own need.

# Each kind of room has one precompiled header, of what most of its sources include.
set(_stoker_headers <algorithm> <filesystem> <fmt/format.h> <functional> <map> <nlohmann/json.hpp> <string> <vector>)
file(CONFIGURE OUTPUT headers.cpp CONTENT "")

# Options that all sources of a kind share; a precompiled header serves only sources with the same.
function(_stoker_room_options target torch cold)
  target_link_libraries(${target} PRIVATE stoker_warnings lib_fmt lib_json lib_threads)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
  if(cold)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(torch)
    target_link_libraries(${target} PRIVATE StokerTorch::torch)
    # No test under sanitizers runs kernels, so these checks would see little of it and take half of its time.
    target_compile_options(${target} PRIVATE $<$<STREQUAL:${STOKER_SANITIZE},address>:-fno-sanitize=undefined>)
  endif()
endfunction()

# The target that owns the precompiled header of a kind of room.
function(_stoker_precompiled torch cold result)
  set(owner headers)
  set(headers ${_stoker_headers})
  if(torch)
    string(APPEND owner _torch)
    list(APPEND headers <ATen/Context.h> <ATen/core/Tensor.h>)
  endif()
  if(cold)
    string(APPEND owner _cold)
  endif()
  if(NOT TARGET ${owner})
    add_library(${owner} OBJECT ${PROJECT_BINARY_DIR}/headers.cpp)
    _stoker_room_options(${owner} "${torch}" "${cold}")
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  set(${result} ${owner} PARENT_SCOPE)
endfunction()

function(stoker_library name)
  cmake_parse_arguments(PARSE_ARGV 1 library "" "" "PLUGIN;REQUIRES")
  foreach(type ${library_PLUGIN})
    set_property(GLOBAL APPEND PROPERTY STOKER_PLUGIN_TYPES "${type}=${name}")
  endforeach()
  foreach(foreign ${library_REQUIRES})
    if(NOT TARGET lib_${foreign})
      set_property(GLOBAL APPEND PROPERTY STOKER_LEFT_OUT ${name})
      return()
    endif()
  endforeach()
  add_library(${name} SHARED)
  add_library(stoker::${name} ALIAS ${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stoker>)
  # Nothing is left for another library to bring by chance. And every function is bound at the start:
  # the I/O profiler replaces slots, which a first call must not bind over meanwhile.
  # A static library stays ours alone: a process of Python's may hold another one of the same name.
  target_link_options(${name} PRIVATE LINKER:-z,now $<$<NOT:$<BOOL:${STOKER_SANITIZE}>>:LINKER:-z,defs>
    LINKER:--exclude-libs,ALL)
  set_property(GLOBAL APPEND PROPERTY STOKER_LIBRARIES ${name})
  add_dependencies(stoker_all ${name})
  if(library_PLUGIN)
    target_sources(${name} PRIVATE ${STOKER_PLUGIN_STAMP_SOURCE})
    set_target_properties(${name} PROPERTIES STOKER_PLUGIN ON PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/stoker
      INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
  else()
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "$ORIGIN")
  endif()
endfunction()

# The target of a room's objects. Those with LibTorch have names of their own for .ci/run.
function(_stoker_room_target folder torch result)
  string(MAKE_C_IDENTIFIER "${folder}" id)
  set(prefix room)
  if(torch)
    set(prefix torch)
  endif()
  set(${result} ${prefix}_${id} PARENT_SCOPE)
endfunction()

function(stoker_room folder)
  cmake_parse_arguments(PARSE_ARGV 1 room "TORCH;COLD" "IN" "NEEDS;LIBRARIES;SOURCES")
  if(room_UNPARSED_ARGUMENTS OR NOT room_IN OR NOT room_SOURCES)
    message(FATAL_ERROR "stoker_room(${folder}): expected IN, SOURCES; unknown: ${room_UNPARSED_ARGUMENTS}")
  endif()
  get_property(left_out GLOBAL PROPERTY STOKER_LEFT_OUT)
  if(room_IN IN_LIST left_out)  # it REQUIRES what is not here
    return()
  elseif(NOT TARGET ${room_IN})
    message(FATAL_ERROR "stoker_room(${folder}): there is no stoker_library(${room_IN})")
  endif()
  _stoker_room_target(${folder} "${room_TORCH}" target)
  add_library(${target} OBJECT ${room_SOURCES})
  _stoker_room_options(${target} "${room_TORCH}" "${room_COLD}")
  list(TRANSFORM room_LIBRARIES PREPEND lib_)
  target_link_libraries(${target} PRIVATE ${room_LIBRARIES})
  _stoker_precompiled("${room_TORCH}" "${room_COLD}" owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  _stoker_unity(${target})

  add_dependencies(${target} stoker_version)

  target_sources(${room_IN} PRIVATE $<TARGET_OBJECTS:${target}>)
  target_link_libraries(${room_IN} PRIVATE $<BUILD_INTERFACE:stoker_warnings>)
  foreach(library lib_fmt lib_threads ${room_LIBRARIES})
    target_link_libraries(${room_IN} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()
  if(room_TORCH)
    target_link_libraries(${room_IN} PUBLIC StokerTorch::torch)
    set_target_properties(${room_IN} PROPERTIES STOKER_TORCH ON)
  endif()
  list(TRANSFORM room_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set_property(GLOBAL APPEND PROPERTY STOKER_SOURCES ${room_SOURCES})
  set_property(GLOBAL PROPERTY "STOKER_LIBRARY_OF_${folder}" ${room_IN})
  set_property(GLOBAL APPEND PROPERTY "STOKER_NEEDS_OF_${room_IN}" ${room_NEEDS})
endfunction()

# With STOKER_UNITY, the sources of a room are compiled as one, so names without linkage are the only ones of their room; not
# kernels for one set of instructions, which have the names of those for another.
function(_stoker_unity target)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(source MATCHES "_avx")
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STOKER_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

function(stoker_finish_rooms)
  get_property(libraries GLOBAL PROPERTY STOKER_LIBRARIES)
  foreach(library ${libraries})
    get_property(needs GLOBAL PROPERTY "STOKER_NEEDS_OF_${library}")
    set(stamp "${STOKER_CORE_STAMP}")
    foreach(room ${needs})
      get_property(other GLOBAL PROPERTY "STOKER_LIBRARY_OF_${room}")
      if(NOT other)
        message(FATAL_ERROR "${library} NEEDS ${room}, which is no room of this build")
      elseif(NOT other STREQUAL library)
        target_link_libraries(${library} PUBLIC ${other})
      endif()
      if(other STREQUAL "stoker")
        set(stamp "${STOKER_TORCH_STAMP}")
        set_target_properties(${library} PROPERTIES STOKER_TORCH ON)
      endif()
    endforeach()
    if(library STREQUAL "stoker" OR stamp STREQUAL STOKER_TORCH_STAMP)
      set_property(TARGET ${library} APPEND PROPERTY INSTALL_RPATH ${STOKER_TORCH_RPATH})
    endif()
    get_target_property(plugin ${library} STOKER_PLUGIN)
    if(plugin)
      target_compile_definitions(${library} PRIVATE "STOKER_PLUGIN_STAMP=\"${stamp}\"")
    endif()
  endforeach()
  # What registry.cpp knows of types that nobody has registered.
  get_property(types GLOBAL PROPERTY STOKER_PLUGIN_TYPES)
  set(rows "")
  foreach(type ${types})
    string(REGEX REPLACE "^(.*):(.*)=(.*)$" "    {\"\\1\", \"\\2\", \"\\3\"},\n" row ${type})
    string(APPEND rows "${row}")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/stoker_plugin_types.h @ONLY CONTENT
    "// Made by cmake/StokerRooms.cmake: kind, type, plug-in.\n@rows@")
endfunction()
