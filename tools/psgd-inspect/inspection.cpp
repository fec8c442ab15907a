#include "tools/psgd-inspect/inspection.hpp"

#include <algorithm>

namespace psgd::tools::inspect {
namespace {

std::optional<double> mean_loss(const dump::Reader& reader, std::size_t step_index) {
  const auto& process_ranks = reader.description().process_ranks;
  double sum = 0;
  for (const std::int64_t process_rank : process_ranks) {
    const auto loss = reader.loss(step_index, process_rank);
    if (!loss) return std::nullopt;
    sum += *loss;
  }
  return process_ranks.empty() ? std::nullopt : std::optional(sum / static_cast<double>(process_ranks.size()));
}

void read_loss_scales(const dump::Reader& reader, TrainingRecord& record) {
  const dump::Description& dump = reader.description();
  record.loss_scale_min = record.loss_scale_max = reader.loss_scale(0, dump.process_ranks.front());
  for (std::size_t step = 0; step < dump.steps.size(); ++step) {
    bool changed = false;
    for (const std::int64_t process_rank : dump.process_ranks) {
      const float scale = reader.loss_scale(step, process_rank);
      record.loss_scale_min = std::min(record.loss_scale_min, scale);
      record.loss_scale_max = std::max(record.loss_scale_max, scale);
      changed = changed || (step > 0 && scale != reader.loss_scale(step - 1, process_rank));
    }
    if (!changed) continue;
    ++record.loss_scale_changes;
    if (!record.first_loss_scale_change) record.first_loss_scale_change = dump.steps[step];
  }
}

}  // namespace

std::int64_t Inspection::bytes_per_step() const {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : dump.parameters) {
    bytes += numel(parameter.shape) * static_cast<std::int64_t>(size_of(parameter.dtype));
  }
  return bytes;
}

bool Inspection::sound() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.severity == Finding::Severity::problem; });
}

TrainingRecord read_training_record(const dump::Reader& reader) {
  TrainingRecord record;
  const dump::Description& dump = reader.description();
  if (dump.steps.empty() || dump.process_ranks.empty()) return record;
  record.first_loss = mean_loss(reader, 0);
  record.last_loss = mean_loss(reader, dump.steps.size() - 1);
  read_loss_scales(reader, record);
  record.accumulation_min = record.accumulation_max = reader.accumulation(0);
  for (std::size_t step = 1; step < dump.steps.size(); ++step) {
    record.accumulation_min = std::min(record.accumulation_min, reader.accumulation(step));
    record.accumulation_max = std::max(record.accumulation_max, reader.accumulation(step));
  }
  return record;
}

}  // namespace psgd::tools::inspect
