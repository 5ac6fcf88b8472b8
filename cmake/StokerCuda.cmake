# The compiler of the plug-in stoker_cuda. Sets STOKER_CUDA to OFF where there is none: everything else
# is built and works without it.
if(STOKER_SANITIZE)
  set(STOKER_CUDA OFF)  # nvcc's host code is not instrumented
endif()
if(STOKER_CUDA)
  # Ampere and Hopper, and code for what comes after them. Named first: CMake's own default is older
  # than what toolkits still know.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  find_program(STOKER_NVCC nvcc PATHS ENV CUDACXX ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(STOKER_NVCC)
  if(STOKER_NVCC AND NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER ${STOKER_NVCC})
  endif()
  include(CheckLanguage)
  if(STOKER_NVCC)
    check_language(CUDA)
  endif()
  if(STOKER_NVCC AND CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
  else()
    set(STOKER_CUDA OFF)
    message(STATUS "No CUDA toolkit: the plug-in stoker_cuda is not built")
  endif()
endif()
