# Every library we use, found once. cmake/psgdConfig.cmake.in finds those again that an installed psgd links to.

include(CMakeFindDependencyMacro)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PsgdHighway REQUIRED IMPORTED_TARGET libhwy)
set(BLA_VENDOR OpenBLAS)
find_package(BLAS REQUIRED)
find_package(LAPACK REQUIRED)
pkg_check_modules(PsgdLapacke REQUIRED IMPORTED_TARGET lapacke)

if(PSGD_BUILD_DUMP)
  find_package(HDF5 REQUIRED COMPONENTS C)
  pkg_check_modules(PsgdDeflate REQUIRED IMPORTED_TARGET libdeflate)
  pkg_check_modules(PsgdZip REQUIRED IMPORTED_TARGET libzip)
  find_package(nlohmann_json REQUIRED)
  find_package(Boost REQUIRED COMPONENTS program_options)
endif()
