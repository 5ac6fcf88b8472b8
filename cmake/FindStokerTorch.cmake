# Finds LibTorch without a CUDA toolkit (find_package(Torch) of the CUDA wheel insists on one).
#
# Looks, in this order, at Torch_DIR, CMAKE_PREFIX_PATH, an installed Python torch, and
# StokerTorch_WHEEL_DIR/torch (the unpacked wheel; this project sets it). A LibTorch that was named by the
# first two and is too old is an error; one that Python happens to have is passed over.
#
# Result: StokerTorch_LOCATION (holds include/ and lib/), StokerTorch_VERSION,
# StokerTorch_RUNTIME_DIRS (for rpath) and the target StokerTorch::torch: headers, libtorch_cpu and
# libc10. The CUDA half is loaded at run time.

set(StokerTorch_MINIMUM 2.11)

function(_stoker_torch_version root result)
  set(${result} "" PARENT_SCOPE)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    set(path ${root}/include/${header})
    if(EXISTS ${path} AND EXISTS ${root}/lib/libtorch_cpu.so)
      file(READ ${path} text)
      if(text MATCHES "VERSION_MAJOR ([0-9]+).*VERSION_MINOR ([0-9]+).*VERSION_PATCH ([0-9]+)")
        set(${result} ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Sets StokerTorch_LOCATION in the caller if `root` holds a LibTorch that is new enough.
function(_stoker_torch_try root origin required)
  _stoker_torch_version(${root} version)
  if(version STREQUAL "")
    return()
  elseif(version VERSION_GREATER_EQUAL StokerTorch_MINIMUM)
    set(StokerTorch_LOCATION ${root} PARENT_SCOPE)
    set(StokerTorch_ORIGIN ${origin} PARENT_SCOPE)
  elseif(required)
    message(FATAL_ERROR "LibTorch ${version} from ${origin} (${root}) is too old: "
      "${StokerTorch_MINIMUM} or newer is needed. Name another one, or none to get the pinned wheel.")
  else()
    message(STATUS "LibTorch ${version} from ${origin} is older than ${StokerTorch_MINIMUM}: not used")
  endif()
endfunction()

function(_stoker_torch_python result)
  find_program(StokerTorch_PYTHON python3)
  mark_as_advanced(StokerTorch_PYTHON)
  set(found "")
  if(StokerTorch_PYTHON)
    # find_spec looks the package up without importing it (importing takes seconds).
    execute_process(OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
      COMMAND ${StokerTorch_PYTHON} -c "import importlib.util as u; s = u.find_spec('torch'); \
print(s.submodule_search_locations[0] if s and s.submodule_search_locations else '')")
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

unset(StokerTorch_LOCATION)
if(Torch_DIR)
  get_filename_component(root ${Torch_DIR}/../../.. ABSOLUTE)
  _stoker_torch_try(${root} Torch_DIR TRUE)
  if(NOT StokerTorch_LOCATION)
    message(FATAL_ERROR "Torch_DIR=${Torch_DIR}: no LibTorch there; expected it to be "
      "<libtorch>/share/cmake/Torch")
  endif()
endif()
foreach(prefix ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH})
  if(NOT StokerTorch_LOCATION)
    # The prefix itself, or torch.utils.cmake_prefix_path, which is share/cmake below it.
    _stoker_torch_try(${prefix} CMAKE_PREFIX_PATH TRUE)
    get_filename_component(root ${prefix}/../.. ABSOLUTE)
    _stoker_torch_try(${root} CMAKE_PREFIX_PATH TRUE)
  endif()
endforeach()
if(NOT StokerTorch_LOCATION)
  _stoker_torch_python(root)
  if(root)
    _stoker_torch_try(${root} "Python's torch" FALSE)
  endif()
endif()
if(NOT StokerTorch_LOCATION AND StokerTorch_WHEEL_DIR)
  _stoker_torch_try(${StokerTorch_WHEEL_DIR}/torch "the pinned wheel" FALSE)
endif()

if(StokerTorch_LOCATION)
  _stoker_torch_version(${StokerTorch_LOCATION} StokerTorch_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(StokerTorch
  REQUIRED_VARS StokerTorch_LOCATION VERSION_VAR StokerTorch_VERSION)

if(StokerTorch_FOUND AND NOT TARGET StokerTorch::torch)
  add_library(StokerTorch::c10 SHARED IMPORTED)
  add_library(StokerTorch::torch SHARED IMPORTED)
  set_target_properties(StokerTorch::c10 PROPERTIES
    IMPORTED_LOCATION ${StokerTorch_LOCATION}/lib/libc10.so)
  # Where libtorch_cpu finds libcudart and libcupti: beside it in site-packages and in the unpacked
  # wheel; a LibTorch archive carries them in lib.
  set(runtime ${StokerTorch_LOCATION}/lib)
  if(EXISTS ${StokerTorch_LOCATION}/../nvidia/cu13/lib)
    get_filename_component(nvidia ${StokerTorch_LOCATION}/../nvidia/cu13/lib ABSOLUTE)
    list(APPEND runtime ${nvidia})
  endif()
  list(TRANSFORM runtime PREPEND "LINKER:-rpath-link," OUTPUT_VARIABLE rpath_links)
  # LibTorch's include folder also holds its own fmt, newer than the system's libfmt: only what is
  # LibTorch's is made visible, through links.
  set(include ${CMAKE_BINARY_DIR}/libtorch_include)
  file(MAKE_DIRECTORY ${include})
  foreach(folder ATen c10 caffe2 torch)
    file(CREATE_LINK ${StokerTorch_LOCATION}/include/${folder} ${include}/${folder} SYMBOLIC)
  endforeach()
  set_target_properties(StokerTorch::torch PROPERTIES
    IMPORTED_LOCATION ${StokerTorch_LOCATION}/lib/libtorch_cpu.so
    INTERFACE_INCLUDE_DIRECTORIES "${include};${include}/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=1
    INTERFACE_LINK_LIBRARIES StokerTorch::c10
    INTERFACE_LINK_OPTIONS "${rpath_links}")
  set(StokerTorch_RUNTIME_DIRS ${runtime})
endif()
