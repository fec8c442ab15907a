#pragma once

#include <memory>

#include "libpsgd/compress/hook.hpp"

namespace psgd::compress {

/// The sign of each element, and the mean magnitude of its tensor: C(M) = (‖M‖₁/n)·sign(M), with sign(0) = +1 because
/// one bit has no third value. Error feedback with the local residual. Needs per-rank arithmetic and an all-gather.
///
/// Bytes of a tensor: ⌈n/8⌉, and one number (float32, or float64 in a float64 bucket). Source: Karimireddy, Rebjock,
/// Stich, Jaggi, Error Feedback Fixes SignSGD and other Gradient Compression Schemes, ICML 2019, EF-signSGD; scaled
/// layer by layer as there.
template <class T>
std::unique_ptr<Hook<T>> sign_norm(const HookOptions& options, const HookContext<T>& context);

}  // namespace psgd::compress
