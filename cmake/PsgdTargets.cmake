# What every target of ours is compiled with.

add_library(psgd_compile_options INTERFACE)
target_compile_features(psgd_compile_options INTERFACE cxx_std_20)
target_compile_options(psgd_compile_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers)
# Contraction would make results depend on the compiler's choice of fused multiply-adds.
target_compile_options(psgd_compile_options INTERFACE -ffp-contract=off)
if(PSGD_WARNINGS_AS_ERRORS)
  target_compile_options(psgd_compile_options INTERFACE -Werror)
endif()
if(PSGD_SANITIZE)
  target_compile_options(psgd_compile_options INTERFACE -fsanitize=${PSGD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(psgd_compile_options INTERFACE -fsanitize=${PSGD_SANITIZE})
  # For what handles files and text, which computes little: optimizing instrumented code takes half of a sanitizer build.
  set(PSGD_SANITIZED_FILES -O0)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
