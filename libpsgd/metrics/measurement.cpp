#include "libpsgd/metrics/measurement.hpp"

#include <array>

#include "libpsgd/metrics/compression_rate.hpp"
#include "libpsgd/metrics/cosine.hpp"
#include "libpsgd/metrics/norms.hpp"
#include "libpsgd/metrics/relative_error.hpp"
#include "libpsgd/metrics/target_relative_error.hpp"

namespace psgd::metrics {
namespace {

constexpr std::array table{
    Metric{"gradient_norm", "", "norm of the mean of this step's gradients over process ranks", gradient_norm},
    Metric{"averaged_norm", "", "norm of the averaged output", averaged_norm},
    Metric{"relative_error", "", "norm of output minus mean gradient, over the norm of the mean gradient",
           relative_error},
    Metric{"cosine", "", "cosine of the angle between output and mean gradient", cosine},
    Metric{"target_relative_error", "",
           "norm of what the compression lost of gradient plus error memory, over its norm", target_relative_error},
    Metric{"compression_rate", "", "elements before over elements after", compression_rate},
};

}  // namespace

std::span<const Metric> metrics() { return table; }

}  // namespace psgd::metrics
