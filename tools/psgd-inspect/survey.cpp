#include "tools/psgd-inspect/survey.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/dump/step_stream.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"

namespace psgd::tools::inspect {
namespace {

/// One tensor of one record.
struct TensorLook {
  double norm = 0;
  std::int64_t non_finite = 0;
};

template <class T>
double sum_of_squares(std::span<const T> values, double scale) {
  double lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double value = static_cast<double>(values[i + lane]) * scale;
      lanes[lane] += value * value;
    }
  }
  for (; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]) * scale;
    lanes[0] += value * value;
  }
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

template <class T>
double largest_magnitude(std::span<const T> values) {
  double largest = 0;
  for (const T value : values) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

template <class T>
TensorLook look_at(std::span<const T> values) {
  TensorLook look;
  double sum = sum_of_squares(values, 1.0);
  // One fast pass nearly always; a sum that overflowed or vanished is taken again, scaled, and one that is NaN counted.
  double scale = 1;
  if (!std::isfinite(sum) || sum < std::numeric_limits<double>::min()) {
    look.non_finite = std::count_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
    const double largest = look.non_finite > 0 ? 0 : largest_magnitude(values);
    if (largest == 0) return look;
    scale = std::exp2(-std::floor(std::log2(largest)));
    sum = sum_of_squares(values, scale);
  }
  look.norm = std::sqrt(sum) / scale;
  return look;
}

class Surveyor {
 public:
  Surveyor(dump::Reader& reader, std::size_t threads) : reader_(reader), pool_(threads) {
    const auto& parameters = reader.description().parameters;
    std::vector<std::size_t> all(parameters.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    layout_ = layout_gradients(parameters, all);
    for (const Bucket& bucket : layout_.buckets)
      slots_.insert(slots_.end(), bucket.tensors.begin(), bucket.tensors.end());
    survey_.parameters.resize(parameters.size());
  }

  template <class T>
  Survey run(Progress& progress, const std::function<bool()>& stop_requested) {
    const dump::Description& dump = reader_.description();
    std::vector<std::size_t> steps(dump.steps.size());
    std::iota(steps.begin(), steps.end(), std::size_t{0});
    ProgressScope scope(progress, steps.size() * dump.process_ranks.size(), "gradients");
    for (const std::int64_t process_rank : dump.process_ranks) {
      dump::StepStream<T> stream(reader_, steps, {process_rank}, layout_, 2);
      while (!stop_requested()) {
        const auto* data = stream.next();
        if (data == nullptr) break;
        add_record(data->gradients.front(), data->step_index, process_rank);
        scope.advance();
      }
    }
    survey_.complete = !stop_requested();
    return std::move(survey_);
  }

 private:
  template <class T>
  void add_record(const T* gradient, std::size_t step_index, std::int64_t process_rank) {
    std::vector<TensorLook> looks(slots_.size());
    pool_.for_each(slots_.size(), [&](std::size_t i, std::size_t) {
      looks[i] = look_at(std::span<const T>(gradient + slots_[i].begin, static_cast<std::size_t>(slots_[i].numel)));
    });
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const std::size_t parameter = slots_[i].parameter;
      GradientStatistics& statistics = survey_.parameters[parameter];
      if (!reader_.present(step_index, process_rank, parameter)) ++statistics.unused_records;
      add_look(statistics, looks[i], reader_.description().steps[step_index], process_rank);
    }
  }

  static void add_look(GradientStatistics& statistics, const TensorLook& look, std::int64_t step,
                       std::int64_t process_rank) {
    if (look.non_finite > 0) {
      // Process ranks come one after the other, so an earlier step may still follow.
      if (!statistics.first_non_finite_step || step < *statistics.first_non_finite_step) {
        statistics.first_non_finite_step = step;
        statistics.first_non_finite_process_rank = process_rank;
      }
      statistics.non_finite_values += look.non_finite;
      return;
    }
    ++statistics.finite_records;
    if (look.norm == 0) ++statistics.zero_records;
    statistics.norm_min = std::min(statistics.norm_min, look.norm);
    statistics.norm_max = std::max(statistics.norm_max, look.norm);
    statistics.norm_sum += look.norm;
  }

  dump::Reader& reader_;
  ThreadPool pool_;
  GradientLayout layout_;
  std::vector<TensorSlot> slots_;
  Survey survey_;
};

}  // namespace

Survey survey_gradients(dump::Reader& reader, std::size_t threads, Progress& progress,
                        const std::function<bool()>& stop_requested) {
  Surveyor surveyor(reader, threads);
  return reader.description().dtype() == DType::float64 ? surveyor.run<double>(progress, stop_requested)
                                                        : surveyor.run<float>(progress, stop_requested);
}

}  // namespace psgd::tools::inspect
