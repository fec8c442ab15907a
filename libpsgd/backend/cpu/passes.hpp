#pragma once

#include "libpsgd/backend/backend.hpp"

/// The passes over one matrix, without threads.
namespace psgd::backend::passes {

template <class T>
void project(const MatrixTask<T>& task, double scale);
template <class T>
void back_project(const MatrixTask<T>& task, double scale);
template <class T>
void residual(const MatrixTask<T>& task);

}  // namespace psgd::backend::passes
