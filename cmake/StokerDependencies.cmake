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
      "-DTorch_DIR=<libtorch>/share/cmake/Torch, or leave the plug-in for GPUs out by -DSTOKER_CUDA=OFF")
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
  message(STATUS
    "LibTorch ${StokerTorch_VERSION} from ${StokerTorch_ORIGIN}: ${StokerTorch_LOCATION}")
endif()

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

# Every foreign library has the name lib_NAME here; rooms name it in LIBRARIES (StokerRooms.cmake).
function(stoker_name_library name)
  add_library(lib_${name} INTERFACE)
  target_link_libraries(lib_${name} INTERFACE ${ARGN})
endfunction()
stoker_name_library(yaml $<IF:$<TARGET_EXISTS:yaml-cpp::yaml-cpp>,yaml-cpp::yaml-cpp,yaml-cpp>)
stoker_name_library(spdlog spdlog::spdlog)
stoker_name_library(fmt fmt::fmt)
stoker_name_library(json nlohmann_json::nlohmann_json)
stoker_name_library(cli11 CLI11::CLI11)
stoker_name_library(curl CURL::libcurl)
stoker_name_library(crypto OpenSSL::Crypto)
stoker_name_library(archive LibArchive::LibArchive)
stoker_name_library(zlib ZLIB::ZLIB)
stoker_name_library(bzip2 BZip2::BZip2)
stoker_name_library(threads Threads::Threads ${CMAKE_DL_LIBS})

# Those whose Debian packages bring no CMake files (OpenCV's only with the full development set).
function(stoker_find_library name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES opencv4 REQUIRED)
  find_library(${name}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
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
stoker_find_library(opencv_core opencv2/core.hpp opencv_core)
stoker_find_library(opencv_imgproc opencv2/imgproc.hpp opencv_imgproc)
stoker_find_library(opencv_imgcodecs opencv2/imgcodecs.hpp opencv_imgcodecs)

# For the program stoker_hdf5 alone, without which the data set `hdf5` does not work.
find_path(STOKER_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(STOKER_HDF5_LIBRARY NAMES hdf5_serial hdf5)
mark_as_advanced(STOKER_HDF5_INCLUDE_DIR STOKER_HDF5_LIBRARY)
if(STOKER_HDF5_INCLUDE_DIR AND STOKER_HDF5_LIBRARY)
  add_library(lib_hdf5 UNKNOWN IMPORTED)
  set_target_properties(lib_hdf5 PROPERTIES IMPORTED_LOCATION ${STOKER_HDF5_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${STOKER_HDF5_INCLUDE_DIR})
else()
  message(STATUS "No libhdf5: stoker_hdf5 is not built, and the data set hdf5 says so (Debian's libhdf5-dev)")
endif()

if(STOKER_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(STOKER_BUILD_TESTS OR STOKER_FUZZ)
  stoker_find_library(jpeg jpeglib.h jpeg)
endif()
if(STOKER_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
