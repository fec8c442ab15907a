#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "libpsgd/compress/power_sgd_state.hpp"
#include "libpsgd/dump/description.hpp"
#include "libpsgd/metrics/hazard.hpp"
#include "libpsgd/metrics/measurement.hpp"
#include "libpsgd/replay/spec.hpp"

namespace psgd::replay {

/// A replayed parameter: its matrix view and place.
struct ReplayedParameter {
  std::string name;
  std::int32_t bucket = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t numel = 0;
  DType dtype = DType::float32;  ///< as recorded: what it takes on the wire

  [[nodiscard]] double bytes() const { return static_cast<double>(numel) * static_cast<double>(size_of(dtype)); }
};

/// One parameter in one step. Norms and errors are computed from the measurement when they are asked for.
struct ParameterRecord {
  std::int64_t step = 0;      ///< recorded number
  std::size_t parameter = 0;  ///< in ReplayResult::parameters
  bool compressed = false;
  std::int64_t rank = 0;  ///< columns of the factors
  double bytes_sent = 0;  ///< by a process rank; NaN where only the bucket has a count
  metrics::Measurement measurement;
  std::vector<double> residual_norms;  ///< a process rank each; empty without error feedback
  double p_orthogonality = 0;          ///< ‖PᵀP − I‖_F; NaN when not compressed by itself
  double q_orthogonality = 0;
};

/// One bucket in one step.
struct BucketRecord {
  std::int64_t step = 0;
  std::int32_t bucket = 0;
  bool compressed = false;
  std::int64_t numel_before = 0;
  std::int64_t numel_after = 0;
  double bytes_sent = 0;  ///< by a process rank, as the wire carries it
  std::int64_t side = 0;  ///< of the square matrix the batched and original hooks form, else 0
  double p_orthogonality = 0;
  double q_orthogonality = 0;
};

struct Spread {
  double mean = 0;
  double median = 0;
  double max = 0;
};

struct Summary {
  compress::CompressionStats compression_stats;
  Spread relative_error;              ///< over the compressed records; NaN when there are none
  Spread relative_error_whole_model;  ///< over the steps, all parameters together
  double seconds_per_step = 0;        ///< median over compressed steps, reading excluded; NaN when there are none
  double seconds_compressing = 0;     ///< median over compressed steps of what one process rank computes to compress
  double seconds_read = 0;            ///< spent reading, mostly overlapped with computing
  double seconds_upload = 0;
  double seconds_total = 0;
  std::vector<metrics::Hazard> hazards;
};

/// The spec with every default filled in by the dump and a loaded state.
struct ResolvedSpec {
  ReplaySpec spec;
  Arithmetic arithmetic = Arithmetic::fused;
  DType dtype = DType::float32;
};

struct ReplayResult {
  bool complete = true;  ///< false: stopped early, everything below is about the steps done
  ResolvedSpec resolved;
  dump::Description dump;
  std::vector<std::int64_t> process_ranks;  ///< recorded ids of the columns of residual_norms
  std::vector<std::int64_t> steps;          ///< recorded numbers of the steps replayed
  std::vector<ReplayedParameter> parameters;
  std::int64_t numel = 0;
  std::uint64_t state_bytes = 0;  ///< what the replay keeps in memory besides gradients
  Summary summary;
  std::vector<ParameterRecord> records;      ///< step by step, parameters in the dump's order
  std::vector<BucketRecord> bucket_records;  ///< step by step, ascending buckets
};

}  // namespace psgd::replay
