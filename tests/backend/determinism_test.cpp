// The same bits for every number of threads, for every operation.

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/backend/cases.hpp"

namespace psgd::backend::test {
namespace {

class DeterminismTest : public testing::TestWithParam<std::string> {};
PSGD_AT_EVERY_LEVEL(DeterminismTest);

/// Everything that all operations leave when they run on inputs drawn from one seed, as bytes.
template <class T>
class Transcript {
 public:
  Transcript(const std::string& level, std::size_t threads) : pool_(threads), backend_(cpu<T>(pool_, level)) {}

  std::vector<std::byte> make() {
    matrices();
    ranks();
    elements();
    factors();
    return std::move(bytes_);
  }

 private:
  template <class U>
  void note(const std::vector<U>& values) {
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    bytes_.insert(bytes_.end(), begin, begin + values.size() * sizeof(U));
  }

  void matrices();
  void ranks();
  void elements();
  void factors();

  ThreadPool pool_;
  std::unique_ptr<Backend<T>> backend_;
  Random random_;
  std::vector<std::byte> bytes_;
};

template <class T>
void Transcript<T>::matrices() {
  for (const std::int64_t rank : {1, 2, 4, 7}) {
    std::vector<std::vector<T>> memory;
    std::vector<MatrixTask<T>> tasks;
    const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
        {1200, 700}, {3, 50000}, {40000, 20}, {64, 27}, {7, 7}};
    std::vector<MemberSums> member_sums(shapes.size());
    std::vector<TensorSums> tensor_sums(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto [rows, cols] = shapes[i];
      for (const std::int64_t size : {rows * cols, rows * cols, rows * cols, rows * rank, cols * rank}) {
        memory.push_back(random_.uniform<T>(size));
      }
      std::vector<T>* const of = &memory[memory.size() - 5];
      MatrixTask<T> task{rows, cols, rank, of[0].data(), of[1].data(), of[3].data(), of[4].data()};
      task.output = of[2].data();
      task.reference = of[0].data();
      task.member_sums = &member_sums[i];
      task.tensor_sums = &tensor_sums[i];
      tasks.push_back(task);
    }
    backend_->project(tasks, 0.5);
    backend_->back_project(tasks, 0.25);
    backend_->residual(tasks);
    backend_->synchronize();
    for (const auto& values : memory) note(values);
    note(member_sums);
    note(tensor_sums);
  }
}

template <class T>
void Transcript<T>::ranks() {
  constexpr std::size_t world = 5;
  constexpr std::int64_t count = 300007;
  std::vector<std::vector<T>> memory;
  for (std::size_t i = 0; i < 2 * world + 3; ++i) memory.push_back(random_.uniform<T>(count));
  std::vector<const T*> gradients;
  std::vector<T*> deviations;
  for (std::size_t w = 0; w < world; ++w) {
    gradients.push_back(memory[w].data());
    deviations.push_back(memory[world + w].data());
  }
  const std::vector<const T*> errors{memory[2 * world].data(), memory[2 * world + 1].data()};
  const std::vector<Segment> segments{{0, 100}, {100, 200000}, {200100, 99907}};
  std::vector<RankSums> rank_sums(segments.size() * world);
  std::vector<double> dots(segments.size() * world * errors.size());
  backend_->reduce_ranks(
      {gradients, deviations, errors, memory.back().data(), segments, rank_sums.data(), dots.data()});
  backend_->synchronize();
  for (const auto& values : memory) note(values);
  note(rank_sums);
  note(dots);
}

template <class T>
void Transcript<T>::elements() {
  constexpr std::int64_t count = 500009;
  const std::vector<T> source = random_.uniform<T>(count);
  std::vector<T> destination = random_.uniform<T>(count);
  std::vector<TensorSums> sums(1);
  std::vector<double> norms(2);
  const std::vector<Segment> segments{{0, 1000}, {1000, count - 1000}};
  const Comparison<T> comparison{destination.data(), source.data(), count, sums.data()};
  backend_->add(source.data(), destination.data(), count);
  backend_->divide(destination.data(), 3, destination.data(), count);
  backend_->subtract(source.data(), destination.data(), count);
  backend_->compare({&comparison, 1});
  backend_->norms(destination.data(), segments, norms.data(), 1);
  backend_->synchronize();
  note(destination);
  note(sums);
  note(norms);
}

template <class T>
void Transcript<T>::factors() {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{{20000, 4}, {50, 3}, {4000, 9}, {33000, 1}, {64, 8}};
  const auto note_after = [&](auto&& operation) {
    std::vector<std::vector<T>> memory;
    std::vector<Factor<T>> factors;
    for (const auto& [rows, cols] : shapes) memory.push_back(random_.uniform<T>(rows * cols));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      factors.push_back({memory[i].data(), shapes[i].first, shapes[i].second});
    }
    operation(factors);
    for (const auto& values : memory) note(values);
  };
  note_after([&](auto& factors) { backend_->gram_schmidt(factors, 0, Rounding::none); });
  note_after([&](auto& factors) { backend_->gram_schmidt(factors, 0, Rounding::bfloat16); });
  note_after([&](auto& factors) { backend_->classical_gram_schmidt_twice(factors, 0); });
  note_after([&](auto& factors) { backend_->householder_tree(factors); });
  note_after([&](auto& factors) {
    std::vector<double> uppers(200);
    std::vector<double> grams(200);
    backend_->gram(factors, uppers.data());
    backend_->cholesky(factors, uppers.data(), 0);
    backend_->solve_right(factors, uppers.data(), grams.data());
    note(uppers);
    note(grams);
  });
}

template <class T>
void check(const std::string& level) {
  const std::vector<std::byte> expected = Transcript<T>(level, 1).make();
  for (const std::size_t threads : {2U, 3U, 7U}) {
    const std::vector<std::byte> found = Transcript<T>(level, threads).make();
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size()), 0) << threads << " threads";
  }
}

TEST_P(DeterminismTest, EveryNumberOfThreadsGivesTheSameBits) {
  check<float>(GetParam());
  check<double>(GetParam());
}

}  // namespace
}  // namespace psgd::backend::test
