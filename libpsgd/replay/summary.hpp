#pragma once

#include <vector>

#include "libpsgd/replay/result.hpp"

namespace psgd::replay {

/// Mean, median and maximum of the finite values; all NaN when there is none.
Spread spread(std::vector<double> values);

/// Median; NaN when empty.
double median(std::vector<double> values);

/// Fills in the summary's errors from the records.
void summarize_errors(ReplayResult& result);

}  // namespace psgd::replay
