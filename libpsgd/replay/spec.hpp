#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libpsgd/compress/hook.hpp"
#include "libpsgd/tensor/dtype.hpp"

namespace psgd::replay {

/// How the process ranks' shares are computed.
enum class Arithmetic {
  fused,     ///< from sums: one compression whatever the number of process ranks
  per_rank,  ///< each process rank by itself, rounding where it would round
};

std::string_view to_string(Arithmetic arithmetic);
std::string_view to_string(compress::Residual residual);

/// Everything a replay is asked to do: plain values, no files opened.
struct ReplaySpec {
  std::vector<std::filesystem::path> files;

  std::string hook = "powersgd";  ///< a name in compress::hooks()
  compress::PowerSGDOptions power_sgd;
  compress::BaselineOptions baseline;
  /// Names of the PowerSGDState parameters that were asked for explicitly. With `state_in` the others come from the
  /// file.
  std::set<std::string, std::less<>> given;
  std::string orthogonalization = "auto";  ///< or a name in orthogonalize::methods()
  compress::Residual residual = compress::Residual::averaged;
  std::optional<Arithmetic> arithmetic;  ///< unset: fused, or per-rank where local residuals need it
  std::optional<DType> dtype;            ///< float32 or float64; unset: float64 for float64 dumps, else float32
  bool draw_in_compute_dtype = false;    ///< random numbers in the computing dtype rather than in the dump's

  std::string backend = "cpu";
  std::string transport = "simulated";

  std::optional<std::pair<std::int64_t, std::int64_t>> steps;  ///< recorded step numbers, first and last
  std::optional<std::vector<std::int64_t>> process_ranks;  ///< recorded ids; unset: all, which have to be 0 … W−1
  std::vector<std::string> parameters;                     ///< shell globs; empty: all
  std::vector<std::string> exclude;                        ///< shell globs

  std::optional<std::filesystem::path> output;  ///< averaged gradients
  std::optional<std::filesystem::path> state_in;
  std::optional<std::filesystem::path> state_out;

  std::uint64_t memory_limit = 0;  ///< bytes; 0: none
  std::size_t threads = 0;         ///< 0: all processors
};

}  // namespace psgd::replay
