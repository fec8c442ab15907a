// Every configuration that PyTorch's own hooks were run with, in both arithmetics. PSGD_CONFORMANCE names a folder with
// the full recordings; without it the committed subset serves.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "libpsgd/metrics/norms.hpp"
#include "libpsgd/metrics/relative_error.hpp"
#include "libpsgd/replay/replay.hpp"
#include "tests/replay/expected.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd {
namespace {

using replay::Arithmetic;

struct Case {
  const char* recording;
  double tolerance;  // of the parameter's norm, or of its bucket's with hooks that compress buckets
  Arithmetic arithmetic;
};

std::filesystem::path data_folder() {
  const char* const full = std::getenv("PSGD_CONFORMANCE");
  return full != nullptr ? std::filesystem::path(full) : std::filesystem::path(PSGD_SOURCE_DIR) / "tests" / "golden";
}

double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

/// Smallest distance of two factors, row-major with `rank` columns, over a common sign of each column.
double distance_up_to_signs(const std::vector<double>& a, const std::vector<double>& b, std::size_t rank) {
  double sum = 0;
  for (std::size_t column = 0; column < rank; ++column) {
    double plus = 0;
    double minus = 0;
    for (std::size_t i = column; i < a.size(); i += rank) {
      plus += (a[i] - b[i]) * (a[i] - b[i]);
      minus += (a[i] + b[i]) * (a[i] + b[i]);
    }
    sum += std::min(plus, minus);
  }
  return std::sqrt(sum);
}

class Comparison {
 public:
  Comparison(const Case& test, const dump::hdf5::Group& expected, const replay::ReplayResult& result)
      : tolerance_(test.tolerance),
        expected_(expected),
        result_(result),
        whole_buckets_(result.resolved.spec.hook != "powersgd") {}

  void compare_records() const {
    const test::Grid gradient = test::read_grid(expected_, "exact_mean_norm");
    const test::Grid averaged = test::read_grid(expected_, "averaged_norm");
    const test::Grid error = test::read_grid(expected_, "relative_error");
    for (std::size_t i = 0; i < result_.records.size(); ++i) {
      const replay::ParameterRecord& record = result_.records[i];
      const std::size_t step = i / result_.parameters.size();
      const std::size_t p = record.parameter;
      SCOPED_TRACE("step " + std::to_string(step) + ", " + result_.parameters[p].name);
      const double scale = scale_of(gradient, averaged, step, p);
      EXPECT_NEAR(metrics::gradient_norm(record.measurement), gradient.at(step, p), tolerance_ * scale);
      EXPECT_NEAR(metrics::averaged_norm(record.measurement), averaged.at(step, p), tolerance_ * scale);
      if (std::isfinite(error.at(step, p))) {
        EXPECT_NEAR(metrics::relative_error(record.measurement) * gradient.at(step, p),
                    error.at(step, p) * gradient.at(step, p), tolerance_ * scale);
      }
      compare_residuals(record, step, p, scale);
    }
  }

  void compare_statistics() const {
    const test::Grid counts = test::read_grid(expected_, "iter_numel_before_after");
    double before = 0;
    double after = 0;
    std::size_t at = 0;
    for (std::size_t step = 0; step < counts.rows; ++step) {
      for (; at < result_.bucket_records.size() && result_.bucket_records[at].step == result_.steps[step]; ++at) {
        const replay::BucketRecord& record = result_.bucket_records[at];
        // The layerwise hook counts every tensor from its start on, whether or not any of a bucket is worth
        // compressing.
        const bool counted =
            record.compressed || static_cast<std::int64_t>(step) >= result_.resolved.spec.power_sgd.start_powerSGD_iter;
        if (!counted) continue;
        before += static_cast<double>(record.numel_before);
        after += static_cast<double>(record.numel_after);
      }
      EXPECT_EQ(before, counts.at(step, 1));
      EXPECT_EQ(after, counts.at(step, 2));
    }
    const double last_after = counts.at(counts.rows - 1, 2);
    EXPECT_EQ(static_cast<double>(result_.summary.compression_stats.numel_before), counts.at(counts.rows - 1, 1));
    EXPECT_EQ(static_cast<double>(result_.summary.compression_stats.numel_after), last_after);
    const std::vector<double> stats = read_attribute("compression_stats");
    EXPECT_DOUBLE_EQ(result_.summary.compression_stats.rate, stats.at(0));
  }

  void compare_output(const dump::hdf5::Group& output) const {
    const test::Grid gradient = test::read_grid(expected_, "exact_mean_norm");
    const test::Grid averaged = test::read_grid(expected_, "averaged_norm");
    const std::size_t last = result_.steps.size() - 1;
    const dump::hdf5::Group steps = expected_.open_group("averaged");
    const dump::hdf5::Group answers = steps.open_group(steps.links().front());
    for (std::size_t p = 0; p < result_.parameters.size(); ++p) {
      const std::string& name = result_.parameters[p].name;
      if (!answers.has(name)) continue;
      SCOPED_TRACE(name);
      const std::vector<double> answer = test::read_values(answers, name);
      const std::vector<double> all = test::read_values(output, name);
      ASSERT_EQ(all.size(), answer.size() * result_.steps.size());
      const std::vector<double> ours(all.end() - static_cast<std::ptrdiff_t>(answer.size()), all.end());
      EXPECT_LE(distance(ours, answer), tolerance_ * scale_of(gradient, averaged, last, p));
    }
  }

  /// P and Q at the end; `state` is the file that --state-out wrote.
  void compare_factors(const dump::hdf5::File& state) const {
    EXPECT_EQ(static_cast<double>(state.read_integer("iter")),
              test::read_grid(expected_, "iter_numel_before_after").at(result_.steps.size() - 1, 0));
    for (const char* memory : {"p_memory", "q_memory"}) {
      if (!expected_.has(memory)) continue;
      const dump::hdf5::Group answers = expected_.open_group(memory);
      const dump::hdf5::Group ours = state.open_group(memory);
      for (const std::string& bucket : answers.links()) {
        SCOPED_TRACE(std::string(memory) + "/" + bucket);
        const std::vector<double> answer = test::read_values(answers, bucket);
        const std::vector<double> values = test::read_values(ours, bucket);
        ASSERT_EQ(values.size(), answer.size());
        compare_factor_list(std::stoi(bucket), memory[0] == 'p', values, answer);
      }
    }
  }

 private:
  [[nodiscard]] std::vector<double> read_attribute(const char* name) const {
    const dump::hdf5::Handle attribute(H5Aopen(expected_.id(), name, H5P_DEFAULT), H5Aclose);
    std::vector<double> values(3);
    EXPECT_GE(H5Aread(attribute.get(), H5T_NATIVE_DOUBLE, values.data()), 0);
    return values;
  }

  [[nodiscard]] double scale_of(const test::Grid& gradient, const test::Grid& averaged, std::size_t step,
                                std::size_t parameter) const {
    double sum = 0;
    for (std::size_t p = 0; p < result_.parameters.size(); ++p) {
      const bool counts =
          whole_buckets_ ? result_.parameters[p].bucket == result_.parameters[parameter].bucket : p == parameter;
      if (counts) sum += std::pow(std::max(gradient.at(step, p), averaged.at(step, p)), 2);
    }
    return std::sqrt(sum);
  }

  void compare_residuals(const replay::ParameterRecord& record, std::size_t step, std::size_t p, double scale) const {
    if (record.residual_norms.empty()) return;
    const test::Grid norms = test::read_grid(expected_, "error_feedback_norm");
    const std::size_t ranks = record.residual_norms.size();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const double answer = norms.at(step * ranks + rank, p);
      EXPECT_NEAR(record.residual_norms[rank], answer, tolerance_ * std::max(scale, answer)) << "process rank " << rank;
    }
  }

  /// Matrices of a bucket lie grouped by shape in first-seen order; each is compared by itself.
  void compare_factor_list(std::int32_t bucket, bool is_p, const std::vector<double>& values,
                           const std::vector<double>& answer) const {
    std::vector<std::pair<std::size_t, std::size_t>> shapes;  // elements and rank of each factor
    if (whole_buckets_) {
      shapes.emplace_back(values.size(),
                          static_cast<std::size_t>(result_.resolved.spec.power_sgd.matrix_approximation_rank));
    } else {
      shapes = factor_shapes(bucket, is_p);
    }
    std::size_t begin = 0;
    for (const auto& [size, rank] : shapes) {
      const auto slice = [&](const std::vector<double>& from) {
        return std::vector<double>(from.begin() + static_cast<std::ptrdiff_t>(begin),
                                   from.begin() + static_cast<std::ptrdiff_t>(begin + size));
      };
      EXPECT_LE(distance_up_to_signs(slice(values), slice(answer), rank), 10 * tolerance_ * norm(slice(answer)));
      begin += size;
    }
    EXPECT_EQ(begin, values.size());
  }

  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> factor_shapes(std::int32_t bucket, bool is_p) const {
    std::vector<std::size_t> members;
    for (std::size_t p = 0; p < result_.parameters.size(); ++p) {
      if (result_.parameters[p].bucket == bucket && last_record(p).compressed) members.push_back(p);
    }
    const auto offset = [&](std::size_t p) { return result_.dump.parameters[p].offset; };
    std::sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) { return offset(a) < offset(b); });
    std::vector<std::pair<std::size_t, std::size_t>> shapes;
    std::vector<bool> done(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t j = i; j < members.size(); ++j) {
        const auto& first = result_.parameters[members[i]];
        const auto& here = result_.parameters[members[j]];
        if (done[j] || first.rows != here.rows || first.cols != here.cols) continue;
        done[j] = true;
        const auto rank = static_cast<std::size_t>(last_record(members[j]).rank);
        shapes.emplace_back(static_cast<std::size_t>(is_p ? here.rows : here.cols) * rank, rank);
      }
    }
    return shapes;
  }

  [[nodiscard]] const replay::ParameterRecord& last_record(std::size_t p) const {
    return result_.records[result_.records.size() - result_.parameters.size() + p];
  }

  double tolerance_;
  const dump::hdf5::Group& expected_;
  const replay::ReplayResult& result_;
  bool whole_buckets_;
};

class Conformance : public ::testing::TestWithParam<Case> {};

TEST_P(Conformance, AnswersAsPyTorch) {
  const Case& test = GetParam();
  const test::Expected expected(data_folder() / (std::string(test.recording) + ".expected.h5"));
  const test::TemporaryDirectory scratch;
  for (const std::string& configuration : expected.configurations()) {
    SCOPED_TRACE(configuration);
    const dump::hdf5::Group group = expected.group(configuration);
    replay::ReplaySpec spec = test::spec_of(group);
    spec.files = {data_folder() / (std::string(test.recording) + ".h5")};
    spec.arithmetic = test.arithmetic;
    spec.threads = 2;
    spec.output = scratch / "output.h5";
    if (spec.hook != "original") spec.state_out = scratch / "state.h5";
    const replay::ReplayResult result = replay::run_replay(spec);

    const Comparison comparison(test, group, result);
    comparison.compare_records();
    comparison.compare_statistics();
    {
      const dump::hdf5::File output = dump::hdf5::File::open(*spec.output);
      comparison.compare_output(output.open_group("averaged"));
    }
    if (spec.state_out) comparison.compare_factors(dump::hdf5::File::open(*spec.state_out));
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Recordings, Conformance,
                         ::testing::Values(Case{"char-lstm-f64", 1e-10, Arithmetic::fused},
                                           Case{"char-lstm-f64", 1e-10, Arithmetic::per_rank},
                                           Case{"digits-cnn-f32", 5e-5, Arithmetic::fused},
                                           Case{"digits-cnn-f32", 5e-5, Arithmetic::per_rank}),
                         [](const auto& test) {
                           std::string name = std::string(test.param.recording) + "_" +
                                              std::string(replay::to_string(test.param.arithmetic));
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace psgd
