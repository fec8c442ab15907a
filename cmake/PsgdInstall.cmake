# `cmake --install` and `find_package(psgd)`.
