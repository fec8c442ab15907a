#pragma once

#include "libpsgd/backend/backend.hpp"

/// Factorizations of one factor, without threads.
namespace psgd::backend::factorize {

template <class T>
void gram_schmidt(const Factor<T>& factor, double epsilon);
template <class T>
void householder(const Factor<T>& factor);
template <class T>
void gram(const Factor<T>& factor, double* gram);

}  // namespace psgd::backend::factorize
