# `cmake --install`, and what find_package(psgd) finds: psgd::core, the numeric core, and psgd::psgd, which adds files.

include(CMakePackageConfigHelpers)

set(psgd_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/psgd)
set(psgd_header_excludes PATTERN "*-inl.hpp" EXCLUDE PATTERN "kernels" EXCLUDE)
if(NOT PSGD_BUILD_DUMP)
  list(APPEND psgd_header_excludes PATTERN "dump" EXCLUDE PATTERN "report" EXCLUDE PATTERN "replay" EXCLUDE)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/libpsgd/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/libpsgd
  FILES_MATCHING PATTERN "*.hpp" ${psgd_header_excludes})

install(TARGETS psgd_core EXPORT psgdCoreTargets)
install(EXPORT psgdCoreTargets NAMESPACE psgd:: DESTINATION ${psgd_package_dir})
if(PSGD_BUILD_DUMP)
  install(TARGETS psgd EXPORT psgdTargets)
  install(EXPORT psgdTargets NAMESPACE psgd:: DESTINATION ${psgd_package_dir})

  get_property(tools DIRECTORY ${PROJECT_SOURCE_DIR}/tools PROPERTY BUILDSYSTEM_TARGETS)
  foreach(tool IN LISTS tools)
    get_target_property(type ${tool} TYPE)
    if(type STREQUAL "EXECUTABLE")
      install(TARGETS ${tool})
    endif()
  endforeach()
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/psgdConfig.cmake.in ${PROJECT_BINARY_DIR}/psgdConfig.cmake
  INSTALL_DESTINATION ${psgd_package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what came before.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/psgdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/psgdConfig.cmake ${PROJECT_BINARY_DIR}/psgdConfigVersion.cmake DESTINATION ${psgd_package_dir})
install(FILES LICENSE NOTICE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
