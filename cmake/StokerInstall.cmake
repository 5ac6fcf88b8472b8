# The installed tree: bin/stoker, its libraries in lib, plug-ins and tools in lib/stoker, include/stoker, and the CMake package with which
# others build plug-ins. It keeps using the LibTorch that it was built with, where that lies, or that of STOKER_TORCH_RPATH.
# The component `runtime` is what runs: a Python wheel holds it, and nothing else.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stoker)

file(RELATIVE_PATH lib_from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
get_property(libraries GLOBAL PROPERTY STOKER_LIBRARIES)
foreach(library ${libraries})
  set(folder ${CMAKE_INSTALL_LIBDIR})
  get_target_property(plugin ${library} STOKER_PLUGIN)
  if(plugin)
    string(APPEND folder /stoker)
  endif()
  install(TARGETS ${library} EXPORT stokerTargets LIBRARY DESTINATION ${folder} COMPONENT runtime)
endforeach()
set_target_properties(stoker_program PROPERTIES
  INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
install(TARGETS stoker_program COMPONENT runtime)
foreach(plugin stoker_cuda stoker_nccl)
  if(TARGET ${plugin})
    set_target_properties(${plugin} PROPERTIES
      INSTALL_RPATH "$ORIGIN/..;${STOKER_TORCH_RPATH};${STOKER_NVJPEG_DIR}/lib")
    install(TARGETS ${plugin} DESTINATION ${CMAKE_INSTALL_LIBDIR}/stoker COMPONENT runtime)
  endif()
endforeach()
if(TARGET stoker_hdf5_program)
  install(TARGETS stoker_hdf5_program DESTINATION ${CMAKE_INSTALL_LIBDIR}/stoker COMPONENT runtime)
endif()
if(TARGET stoker_parquet)  # of a wheel that others need not have
  install(FILES ${StokerParquet_arrow} ${StokerParquet_parquet} DESTINATION ${CMAKE_INSTALL_LIBDIR}/stoker COMPONENT runtime)
endif()
# The quick start, wherever it is called: `stoker train quickstart`.
if(NOT STOKER_CORE_ALONE)
  file(READ configs/quickstart.yaml quickstart)
  string(REGEX REPLACE "root: (datasets/[^ }]+)" [[root: "${STOKER_SHARE}/\1"]] quickstart "${quickstart}")
  file(CONFIGURE OUTPUT quickstart.yaml CONTENT "@quickstart@" @ONLY)
  set(share ${CMAKE_INSTALL_DATADIR}/stoker)
  install(FILES ${PROJECT_BINARY_DIR}/quickstart.yaml DESTINATION ${share}/configs COMPONENT runtime)
  install(FILES configs/schema/experiment.json DESTINATION ${share}/configs/schema COMPONENT runtime)  # its first line names it
  install(DIRECTORY datasets/caltech101-mini DESTINATION ${share}/datasets COMPONENT runtime)
endif()
# Interfaces of components, with all that they include.
install(DIRECTORY io models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stoker
  FILES_MATCHING PATTERN "*.h")
install(EXPORT stokerTargets NAMESPACE stoker:: DESTINATION ${package_dir})
configure_package_config_file(cmake/stokerConfig.cmake.in stokerConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(stokerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/stokerConfig.cmake ${PROJECT_BINARY_DIR}/stokerConfigVersion.cmake
    cmake/FindStokerTorch.cmake cmake/StokerPlugin.cmake cmake/plugin_stamp.cpp
  DESTINATION ${package_dir})
install(FILES cmake/completion.bash RENAME stoker
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
