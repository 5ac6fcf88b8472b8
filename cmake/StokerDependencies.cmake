# Everything the project links to. Rooms name what they use of it (StokerRooms.cmake).
include(FeatureSummary)
set(STOKER_DEPS_DIR ${PROJECT_SOURCE_DIR}/build/_deps CACHE PATH
  "Where the pinned LibTorch is unpacked; shared by all build folders")
set(StokerTorch_WHEEL_DIR ${STOKER_DEPS_DIR}/libtorch-2.11.0)

# A GPU's driver is here, or the wish for what it would need.
execute_process(COMMAND sh -c "ldconfig -p | grep -q 'libcuda[.]so[.]1'" RESULT_VARIABLE no_driver ERROR_QUIET)
if(no_driver AND NOT "$ENV{STOKER_GPU}")
  set(STOKER_GPU OFF)
else()
  set(STOKER_GPU ON)
endif()

# stoker_get_wheels(folder list...): those of the lists that are not there are downloaded.
function(stoker_get_wheels folder)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/cmake/get_wheels.sh ${folder} ${ARGN} RESULT_VARIABLE failure)
  if(failure)
    message(FATAL_ERROR "${ARGN}: these pinned wheels could not be fetched (see above). Run "
      "cmake/get_wheels.sh ${folder} ${ARGN} where there is a network; or name a LibTorch of your own by "
      "-DTorch_DIR=<libtorch>/share/cmake/Torch, or leave the plug-in for GPUs out by -DSTOKER_CUDA=OFF, or that for "
      "Parquet by -DSTOKER_PARQUET=OFF")
  endif()
endfunction()

if(NOT STOKER_CORE_ALONE)
  find_package(StokerTorch QUIET)
  if(NOT StokerTorch_FOUND OR StokerTorch_ORIGIN STREQUAL "the pinned wheel")
    # Also when it is there: a GPU driver that came later needs the CUDA half's wheels.
    set(wheels torch.txt)
    if(STOKER_GPU)
      list(APPEND wheels torch-cuda.txt)
    endif()
    stoker_get_wheels(${StokerTorch_WHEEL_DIR} ${wheels})
    find_package(StokerTorch REQUIRED QUIET)
  endif()
  # Where what is installed looks for LibTorch: where this build has found it, or where -D says so.
  if(NOT DEFINED STOKER_TORCH_RPATH)
    set(STOKER_TORCH_RPATH ${StokerTorch_RUNTIME_DIRS})
  endif()
  add_library(lib_torch INTERFACE)
  target_link_libraries(lib_torch INTERFACE StokerTorch::torch)
  message(STATUS
    "LibTorch ${StokerTorch_VERSION} from ${StokerTorch_ORIGIN}: ${StokerTorch_LOCATION}")
endif()

# Debian's own first: another one that stands before it in PATH has none of Debian's modules.
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
# What is not here is collected, for one error that names all of it.
set(missing "")
macro(stoker_find_package name)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    list(APPEND missing ${name})
  endif()
endmacro()
stoker_find_package(fmt)
stoker_find_package(spdlog)
stoker_find_package(yaml-cpp)
stoker_find_package(CLI11)
stoker_find_package(nlohmann_json)
stoker_find_package(CURL)
stoker_find_package(OpenSSL COMPONENTS Crypto)
stoker_find_package(LibArchive)
stoker_find_package(ZLIB)
stoker_find_package(BZip2)

# Every foreign library has the name lib_NAME here; rooms name it in LIBRARIES (StokerRooms.cmake).
# The property STOKER_FOREIGN lists those that are here.
function(stoker_name_library name)
  set_property(GLOBAL APPEND PROPERTY STOKER_FOREIGN lib_${name})
  add_library(lib_${name} INTERFACE)
  target_link_libraries(lib_${name} INTERFACE ${ARGN})
endfunction()
stoker_name_library(yaml $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>)
# Debian's library of it is bound to the libstdc++ of GCC 12: portable is what is compiled here.
stoker_name_library(spdlog spdlog::spdlog$<$<BOOL:${STOKER_PORTABLE}>:_header_only>)
stoker_name_library(fmt fmt::fmt)
stoker_name_library(json nlohmann_json::nlohmann_json)
stoker_name_library(cli11 CLI11::CLI11)
stoker_name_library(curl CURL::libcurl)
stoker_name_library(crypto OpenSSL::Crypto)
stoker_name_library(archive LibArchive::LibArchive ZLIB::ZLIB)  # a static libarchive does not name its own
stoker_name_library(zlib ZLIB::ZLIB)
stoker_name_library(bzip2 BZip2::BZip2)
stoker_name_library(threads Threads::Threads ${CMAKE_DL_LIBS})

# stoker_find_library(NAME HEADER LIBRARY [OPTIONAL]): one whose Debian package brings no CMake files
# (OpenCV's does only with the full development set). OPTIONAL: lib_NAME may not exist.
function(stoker_find_library name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES opencv4 hdf5/serial)
  find_library(${name}_LIBRARY NAMES ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    if("OPTIONAL" IN_LIST ARGN)
      message(STATUS "No ${name}: what needs it is not built")
    else()
      list(APPEND missing ${name})
      set(missing ${missing} PARENT_SCOPE)
    endif()
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY STOKER_FOREIGN lib_${name})
  add_library(lib_${name} UNKNOWN IMPORTED)
  set_target_properties(lib_${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
endfunction()
stoker_find_library(turbojpeg turbojpeg.h turbojpeg)
stoker_find_library(xxhash xxhash.h xxhash)
stoker_find_library(isal isa-l.h isal)
stoker_find_library(lmdb lmdb.h lmdb)
stoker_find_library(uring liburing.h uring)
stoker_find_library(tinyxml2 tinyxml2.h tinyxml2)
stoker_find_library(fuse3 fuse3/fuse_lowlevel.h fuse3)
stoker_find_library(prometheus prometheus/text_serializer.h prometheus-cpp-core)
# These bring more than a hundred packages along for one plug-in each. A first start does without them; the
# tests do not.
set(optional OPTIONAL)
if(STOKER_BUILD_TESTS)
  set(optional "")
endif()
stoker_find_library(opencv_core opencv2/core.hpp opencv_core ${optional})
stoker_find_library(opencv_imgproc opencv2/imgproc.hpp opencv_imgproc ${optional})
stoker_find_library(opencv_imgcodecs opencv2/imgcodecs.hpp opencv_imgcodecs ${optional})
stoker_find_library(png png.h png ${optional})
stoker_find_library(hdf5 hdf5.h "hdf5_serial;hdf5" ${optional})

# libparquet and libarrow, of the pinned wheel alone. A first start does without them as well; where the wheel is
# there already, they are used.
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/parquet.txt pin REGEX "^pyarrow==")
string(REGEX MATCH "[0-9.]+" version "${pin}")
set(parquet_dir ${STOKER_DEPS_DIR}/pyarrow-${version})
if(NOT DEFINED STOKER_PARQUET)
  set(STOKER_PARQUET OFF)
  if(STOKER_BUILD_TESTS OR EXISTS ${parquet_dir}/pyarrow)
    set(STOKER_PARQUET ON)
  endif()
endif()
if(STOKER_PARQUET)
  stoker_get_wheels(${parquet_dir} parquet.txt)
  foreach(name arrow parquet)
    file(GLOB StokerParquet_${name} ${parquet_dir}/pyarrow/lib${name}.so.*)
    add_library(StokerParquet::${name} SHARED IMPORTED)
    set_target_properties(StokerParquet::${name} PROPERTIES IMPORTED_LOCATION ${StokerParquet_${name}}
      INTERFACE_INCLUDE_DIRECTORIES ${parquet_dir}/pyarrow/include)
  endforeach()
  stoker_name_library(parquet StokerParquet::parquet StokerParquet::arrow)
else()
  message(STATUS "No parquet: what needs it is not built (-DSTOKER_PARQUET=ON fetches it)")
endif()

if(STOKER_BUILD_TESTS)
  stoker_find_package(GTest)
endif()
if(STOKER_BUILD_TESTS OR STOKER_FUZZ)
  stoker_find_library(jpeg jpeglib.h jpeg)
endif()

if(missing)
  list(JOIN missing ", " missing)
  execute_process(COMMAND bash -c "source cmake/setup.sh && missing_packages \"\${library_packages[@]}\""
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE packages ERROR_QUIET)
  if(packages)
    string(REPLACE "\n" " " packages ". On Debian, as root: apt-get install --no-install-recommends ${packages}")
  endif()
  message(FATAL_ERROR "These libraries are not here: ${missing}${packages}")
endif()
