#include "tools/psgd-replay/parameter_summary.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include "libpsgd/metrics/cosine.hpp"
#include "libpsgd/metrics/relative_error.hpp"
#include "libpsgd/metrics/residual_norm.hpp"
#include "libpsgd/metrics/target_relative_error.hpp"

namespace psgd::tools::replay {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] double value() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : none; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

double over_process_ranks(const std::vector<double>& norms) {
  if (norms.empty()) return none;
  double sum = 0;
  for (const double norm : norms) sum += norm * norm;
  return std::sqrt(sum / static_cast<double>(norms.size()));
}

struct Gathered {
  std::int64_t compressed_steps = 0;
  Mean relative_error;
  Mean target_error;
  Mean cosine;
  double first_residual = 0;
  double last_residual = none;
};

void gather(const psgd::replay::ParameterRecord& record, Gathered& into) {
  if (record.compressed) ++into.compressed_steps;
  if (record.compressed && metrics::is_comparable(record.measurement)) {
    into.relative_error.add(metrics::relative_error(record.measurement));
    into.target_error.add(metrics::target_relative_error(record.measurement));
    into.cosine.add(metrics::cosine(record.measurement));
  }
  into.last_residual = over_process_ranks(record.residual_norms);
  if (into.first_residual == 0 && into.last_residual > 0) into.first_residual = into.last_residual;
}

}  // namespace

std::vector<ParameterSummary> summarize_parameters(const psgd::replay::ReplayResult& result) {
  std::vector<Gathered> gathered(result.parameters.size());
  for (const auto& record : result.records) gather(record, gathered[record.parameter]);
  std::vector<ParameterSummary> summaries;
  summaries.reserve(gathered.size());
  for (const Gathered& one : gathered) {
    summaries.push_back(
        {one.compressed_steps, one.relative_error.value(), one.target_error.value(), one.cosine.value(),
         one.last_residual,
         one.first_residual > 0 ? metrics::residual_growth(one.first_residual, one.last_residual) : none});
  }
  return summaries;
}

}  // namespace psgd::tools::replay
