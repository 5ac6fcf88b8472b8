# Everything the project links to. stoker_dependencies serves our own sources and tests; what is
# part of the public interface (LibTorch and nothing else) is linked by the library itself.
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
      "-DTorch_DIR=<libtorch>/share/cmake/Torch, or leave the plug-in for GPUs out by -DSTOKER_CUDA=OFF")
  endif()
endfunction()

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
message(STATUS
  "LibTorch ${StokerTorch_VERSION} from ${StokerTorch_ORIGIN}: ${StokerTorch_LOCATION}")

# Debian's own first: another one that stands before it in PATH has none of Debian's modules.
find_program(Python3_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(LibArchive REQUIRED)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)

# Libraries whose Debian packages bring no CMake files (OpenCV's only with the full development set).
function(stoker_find_library name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES opencv4 REQUIRED)
  find_library(${name}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  add_library(stoker_${name} UNKNOWN IMPORTED)
  set_target_properties(stoker_${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
endfunction()
stoker_find_library(turbojpeg turbojpeg.h turbojpeg)
stoker_find_library(xxhash xxhash.h xxhash)
stoker_find_library(isal isa-l.h isal)
stoker_find_library(lmdb lmdb.h lmdb)
stoker_find_library(uring liburing.h uring)
stoker_find_library(fuse3 fuse3/fuse_lowlevel.h fuse3)
stoker_find_library(prometheus prometheus/text_serializer.h prometheus-cpp-core)
stoker_find_library(opencv_core opencv2/core.hpp opencv_core)
stoker_find_library(opencv_imgproc opencv2/imgproc.hpp opencv_imgproc)
stoker_find_library(opencv_imgcodecs opencv2/imgcodecs.hpp opencv_imgcodecs)  # the plug-in only

# For stoker_hdf5 alone, without which the data set `hdf5` does not work.
find_path(STOKER_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(STOKER_HDF5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(STOKER_HDF5_INCLUDE_DIR STOKER_HDF5_LIBRARY)
if(STOKER_HDF5_INCLUDE_DIR AND STOKER_HDF5_LIBRARY)
  add_library(stoker_libhdf5 UNKNOWN IMPORTED)
  set_target_properties(stoker_libhdf5 PROPERTIES IMPORTED_LOCATION ${STOKER_HDF5_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${STOKER_HDF5_INCLUDE_DIR})
else()
  message(STATUS "No libhdf5: stoker_hdf5 is not built, and the data set hdf5 says so (Debian's libhdf5-dev)")
endif()

add_library(stoker_dependencies INTERFACE)
target_link_libraries(stoker_dependencies INTERFACE
  stoker_opencv_imgproc stoker_opencv_core stoker_turbojpeg stoker_xxhash stoker_isal stoker_uring stoker_lmdb
  stoker_fuse3 stoker_prometheus
  $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>
  spdlog::spdlog fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11
  CURL::libcurl OpenSSL::Crypto LibArchive::LibArchive ZLIB::ZLIB BZip2::BZip2 Threads::Threads ${CMAKE_DL_LIBS})

if(STOKER_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(STOKER_BUILD_TESTS OR STOKER_FUZZ)
  stoker_find_library(jpeg jpeglib.h jpeg)
endif()
if(STOKER_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
