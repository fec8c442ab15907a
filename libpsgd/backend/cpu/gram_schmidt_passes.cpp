#include "libpsgd/backend/cpu/gram_schmidt_passes.hpp"

#include <algorithm>
#include <cmath>

#include "libpsgd/backend/cpu/rounded_gram_schmidt.hpp"
#include "libpsgd/backend/cpu/tall_partition.hpp"
#include "libpsgd/tensor/half_rounding.hpp"

namespace psgd::backend {
namespace {

/// Columns `begin` to `end` of rows from `row` on.
template <class T>
kernels::PackedColumns<T> some_columns(const kernels::PackedColumns<T>& all, std::size_t begin, std::size_t end,
                                       std::size_t row, std::size_t rows) {
  return {all.data + begin * all.stride + row, all.stride, rows, end - begin};
}

}  // namespace

/// Jobs that advance together: one by one thread, or all of several parts by all threads.
template <class T>
class GramSchmidtPasses<T>::Crew {
 public:
  Crew(std::span<Job> jobs, const std::vector<Part>& parts, Distributor* distributor)
      : jobs_(jobs), parts_(parts), distributor_(distributor) {}

  /// The most columns that a job has.
  [[nodiscard]] std::size_t cols() const {
    std::size_t most = 0;
    for (const Job& job : jobs_) most = std::max(most, job.cols);
    return most;
  }

  /// Runs step(part) for all parts of the jobs that have more than `column` columns.
  template <class Step>
  void each(std::size_t column, Step&& step) {
    if (distributor_ == nullptr) {
      if (jobs_.front().cols > column) step(parts_[jobs_.front().first_part]);
      return;
    }
    distributor_->for_each(parts_, [&](std::size_t index, std::size_t /*worker*/) {
      if (parts_[index].job->cols > column) step(parts_[index]);
    });
  }

  /// Adds the first count(job) sums of the parts of each job that has more than `column` columns, then runs
  /// finish(job).
  template <class Count, class Finish>
  void add_up(std::size_t column, Count&& count, Finish&& finish) {
    for (Job& job : jobs_) {
      if (job.cols <= column) continue;
      const std::size_t sums = count(job);
      std::fill_n(job.sums, sums, 0.0);
      for (std::size_t i = 0; i < job.part_count; ++i) {
        const double* const part = parts_[job.first_part + i].sums;
        for (std::size_t c = 0; c < sums; ++c) job.sums[c] += part[c];
      }
      finish(job);
    }
  }

  /// The norm of a column, from the squares that `measure` left.
  void add_up_norm(std::size_t column, T epsilon) {
    add_up(
        column, [](const Job&) { return std::size_t{1}; },
        [&](Job& job) { job.norm = static_cast<T>(std::sqrt(job.sums[0])) + epsilon; });
  }

 private:
  std::span<Job> jobs_;
  const std::vector<Part>& parts_;
  Distributor* distributor_;
};

template <class T>
void GramSchmidtPasses<T>::plan(std::span<const Factor<T>> factors) {
  jobs_.clear();
  for (const bool several : {true, false}) {
    for (const Factor<T>& factor : factors) {
      Job job;
      job.factor = &factor;
      job.rows = static_cast<std::size_t>(factor.rows);
      job.cols = static_cast<std::size_t>(factor.cols);
      job.elements = job.rows * job.cols;
      if (job.elements == 0) continue;
      const std::size_t step = chunk_rows(job.rows, job.cols);
      job.part_count = (job.rows + step - 1) / step;
      if ((job.part_count > 1) == several) jobs_.push_back(job);
    }
  }
  place_jobs();
}

/// Gives every job its columns and sums, and cuts it into parts.
template <class T>
void GramSchmidtPasses<T>::place_jobs() {
  std::size_t elements = 0;
  std::size_t sums = 0;
  std::size_t cols = 0;
  for (Job& job : jobs_) {
    job.columns = {nullptr, kernels::tall_stride<T>(job.rows), job.rows, job.cols};
    elements += job.cols * job.columns.stride;
    sums += job.cols * (1 + job.part_count);
    cols += job.cols;
  }
  T* columns = columns_.get(elements);
  double* sum = sums_.get(sums);
  T* multiple = multiples_.get(cols);
  shared_.clear();
  single_.clear();
  for (Job& job : jobs_) {
    job.columns.data = job.cols == 1 ? job.factor->data : columns;  // a single column is contiguous as it is
    columns += job.cols * job.columns.stride;
    job.multiples = multiple;
    multiple += job.cols;
    job.sums = sum;
    sum += job.cols;
    std::vector<Part>& parts = job.part_count > 1 ? shared_ : single_;
    job.first_part = parts.size();
    const std::size_t step = chunk_rows(job.rows, job.cols);
    for (std::size_t begin = 0; begin < job.rows; begin += step, sum += job.cols) {
      const std::size_t count = std::min(step, job.rows - begin);
      parts.push_back({&job, begin, count, sum, count * job.cols});
    }
  }
}

template <class T>
template <class Algorithm>
void GramSchmidtPasses<T>::run(std::span<const Factor<T>> factors, Algorithm algorithm) {
  plan(factors);
  const std::size_t several = jobs_.size() - single_.size();
  if (several > 0) {
    Crew crew{std::span<Job>(jobs_).first(several), shared_, &distributor_};
    algorithm(crew);
  }
  distributor_.for_each(single_, [&](std::size_t index, std::size_t /*worker*/) {
    Crew crew{std::span<Job>(jobs_).subspan(several + index, 1), single_, nullptr};
    algorithm(crew);
  });
}

template <class T>
void GramSchmidtPasses<T>::pack(const Part& part) const {
  const Job& job = *part.job;
  if (job.cols == 1) return;
  kernels_.pack(job.factor->data + part.begin * job.cols, part.count, job.cols, job.columns.data + part.begin,
                job.columns.stride);
}

template <class T>
void GramSchmidtPasses<T>::unpack(const Part& part) const {
  const Job& job = *part.job;
  if (job.cols == 1) return;
  kernels_.unpack(job.columns.data + part.begin, job.columns.stride, part.count, job.cols,
                  job.factor->data + part.begin * job.cols);
}

template <class T>
void GramSchmidtPasses<T>::divide(const Part& part, std::size_t column) const {
  T* const at = part.job->columns.data + column * part.job->columns.stride + part.begin;
  kernels_.divide(at, part.job->norm, at, part.count);
}

template <class T>
void GramSchmidtPasses<T>::measure(const Part& part, std::size_t column) const {
  part.sums[0] =
      kernels_.sum_squares(part.job->columns.data + column * part.job->columns.stride + part.begin, part.count);
}

template <class T>
void GramSchmidtPasses<T>::run_modified(Crew& crew, T epsilon) const {
  crew.each(0, [&](const Part& part) {
    pack(part);
    measure(part, 0);
  });
  const std::size_t cols = crew.cols();
  for (std::size_t i = 0; i < cols; ++i) {
    crew.add_up_norm(i, epsilon);
    crew.each(i, [&](const Part& part) {
      const auto& columns = part.job->columns;
      divide(part, i);
      kernels_.dots(columns.data + i * columns.stride + part.begin,
                    some_columns(columns, i + 1, columns.cols, part.begin, part.count), part.sums);
    });
    const auto after = [i](const Job& job) { return job.cols - i - 1; };
    crew.add_up(i + 1, after, [&](Job& job) {
      std::transform(job.sums, job.sums + after(job), job.multiples, [](double dot) { return static_cast<T>(dot); });
    });
    crew.each(i + 1, [&](const Part& part) {
      const auto& columns = part.job->columns;
      kernels_.subtract_multiples(columns.data + i * columns.stride + part.begin, part.job->multiples,
                                  some_columns(columns, i + 1, columns.cols, part.begin, part.count));
      measure(part, i + 1);
    });
  }
  crew.each(0, [&](const Part& part) { unpack(part); });
}

/// column ← column − Q·(Qᵀ·column), Q being the columns before; leaves its squared norm in sums[0].
template <class T>
void GramSchmidtPasses<T>::subtract_projections(Crew& crew, std::size_t column) const {
  crew.each(column, [&](const Part& part) {
    const auto& columns = part.job->columns;
    kernels_.dots(columns.data + column * columns.stride + part.begin,
                  some_columns(columns, 0, column, part.begin, part.count), part.sums);
  });
  crew.add_up(
      column, [column](const Job&) { return column; }, [](const Job&) {});
  crew.each(column, [&](const Part& part) {
    const auto& columns = part.job->columns;
    part.sums[0] = kernels_.subtract_combination(some_columns(columns, 0, column, part.begin, part.count),
                                                 part.job->sums, columns.data + column * columns.stride + part.begin);
  });
}

template <class T>
void GramSchmidtPasses<T>::run_classical_twice(Crew& crew, T epsilon) const {
  crew.each(0, [&](const Part& part) {
    pack(part);
    measure(part, 0);
  });
  const std::size_t cols = crew.cols();
  for (std::size_t i = 0; i < cols; ++i) {
    for (int time = 0; i > 0 && time < 2; ++time) subtract_projections(crew, i);
    crew.add_up_norm(i, epsilon);
    crew.each(i, [&](const Part& part) { divide(part, i); });
  }
  crew.each(0, [&](const Part& part) { unpack(part); });
}

template <class T>
void GramSchmidtPasses<T>::modified(std::span<const Factor<T>> factors, double epsilon, Rounding rounding) {
  if (rounding == Rounding::none) {
    run(factors, [&](Crew& crew) { run_modified(crew, static_cast<T>(epsilon)); });
    return;
  }
  plan(factors);
  distributor_.for_each(jobs_, [&](std::size_t index, std::size_t /*worker*/) {
    Job& job = jobs_[index];
    const Part whole{&job, 0, job.rows};
    pack(whole);
    if (rounding == Rounding::float16) {
      rounded_gram_schmidt<Float16>(job.columns, static_cast<float>(epsilon));
    } else {
      rounded_gram_schmidt<BFloat16>(job.columns, static_cast<float>(epsilon));
    }
    unpack(whole);
  });
}

template <class T>
void GramSchmidtPasses<T>::classical_twice(std::span<const Factor<T>> factors, double epsilon) {
  run(factors, [&](Crew& crew) { run_classical_twice(crew, static_cast<T>(epsilon)); });
}

template class GramSchmidtPasses<float>;
template class GramSchmidtPasses<double>;

}  // namespace psgd::backend
