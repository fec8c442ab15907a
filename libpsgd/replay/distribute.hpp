#pragma once

#include <string_view>

/// The seam for sweeps over several nodes: what the processes of an MPI job share out.
namespace psgd::replay {

enum class Distribute {
  configurations,  ///< each process takes some of the grid and reads the whole dump
  process_ranks,   ///< each process stands for some process ranks, and sums go through the transport
};

/// "configurations" or "process-ranks".
std::string_view to_string(Distribute distribute);

/// Looks at whether this process was started as one of several by mpirun or srun. Throws Error::unavailable then,
/// saying what to do: without the MPI module every one of them would do the whole sweep.
void check_started_alone(Distribute distribute);

}  // namespace psgd::replay
