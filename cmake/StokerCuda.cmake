# The compiler of the plug-in stoker_cuda: a CUDA toolkit's; on a machine with a GPU and without one, that
# of the wheels. Sets STOKER_CUDA to OFF where there is neither: everything else is built and works
# without it. STOKER_NCCL_DIR holds nccl.h where the CUDA half of LibTorch is, else nothing: the plug-in
# stoker_nccl is built there alone. STOKER_NVJPEG_DIR holds include/nvjpeg.h and lib/libnvjpeg.so.13.
if(STOKER_SANITIZE OR STOKER_CORE_ALONE)
  set(STOKER_CUDA OFF)  # nvcc's host code is not instrumented; it needs LibTorch
endif()
if(STOKER_CUDA)
  # Ampere and Hopper, and code for what comes after them. Named first: CMake's own default is older
  # than what toolkits still know.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
  endif()
  set(wheel_dir ${STOKER_DEPS_DIR}/cuda-13.0)
  set(toolkits ENV CUDACXX ENV CUDA_PATH /usr/local/cuda ${wheel_dir}/nvidia/cu13)
  find_program(STOKER_NVCC nvcc PATHS ${toolkits} PATH_SUFFIXES bin)
  if(NOT STOKER_NVCC AND STOKER_GPU)
    stoker_get_wheels(${wheel_dir} nvcc.txt)
    find_program(STOKER_NVCC nvcc PATHS ${toolkits} PATH_SUFFIXES bin)
  endif()
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
    find_package(CUDAToolkit REQUIRED)
    stoker_get_wheels(${wheel_dir} nvjpeg.txt)
    set(STOKER_NVJPEG_DIR ${wheel_dir}/nvidia/cu13)
    set(STOKER_NCCL_DIR ${StokerTorch_LOCATION}/../nvidia/nccl/include)
  else()
    set(STOKER_CUDA OFF)
    message(STATUS "No CUDA toolkit: the plug-in stoker_cuda is not built (STOKER_GPU=1 fetches a compiler)")
  endif()
endif()
