#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libpsgd/dump/reader.hpp"
#include "libpsgd/tensor/bucket_layout.hpp"
#include "tools/psgd-inspect/rank_plan.hpp"
#include "tools/psgd-inspect/steps.hpp"
#include "tools/psgd-inspect/survey.hpp"

namespace psgd::tools::inspect {

/// Something to know before trusting a replay of the dump.
struct Finding {
  enum class Severity {
    problem,  ///< the dump is not sound: a replay refuses it or means less than it seems to
    note,
  };
  std::string kind;  ///< as the hazards of a replay are named, where it is one
  Severity severity = Severity::problem;
  std::string parameter{};  ///< "" when it concerns all
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> process_rank{};
  std::int64_t count = 1;
  std::string text{};
};

/// What is recorded beside the gradients, over all steps and process ranks.
struct TrainingRecord {
  std::optional<double> first_loss;  ///< mean over process ranks at the first step
  std::optional<double> last_loss;
  float loss_scale_min = 1;
  float loss_scale_max = 1;
  std::optional<std::int64_t> first_loss_scale_change;  ///< the step from which another scale holds
  std::int64_t loss_scale_changes = 0;                  ///< steps whose scale differs from the step's before
  std::int32_t accumulation_min = 1;
  std::int32_t accumulation_max = 1;
};

/// All that is said about a dump.
struct Inspection {
  dump::Description dump;
  GradientLayout layout;  ///< all parameters
  StepPattern step_pattern;
  TrainingRecord training;
  std::vector<std::int64_t> missing_process_ranks;
  std::vector<RankPlan> plans;
  std::optional<Survey> survey;  ///< none without data
  std::vector<Finding> findings;

  [[nodiscard]] std::int64_t bytes_per_step() const;  ///< of one process rank, as recorded
  [[nodiscard]] bool sound() const;
  [[nodiscard]] bool complete() const { return !survey || survey->complete; }
};

TrainingRecord read_training_record(const dump::Reader& reader);

/// Everything worth a sentence, from the other members.
std::vector<Finding> find(const Inspection& inspection);

}  // namespace psgd::tools::inspect
