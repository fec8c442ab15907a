#include "libpsgd/replay/distribute.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "libpsgd/base/error.hpp"

namespace psgd::replay {
namespace {

/// How many processes the launcher says that it started: Open MPI's, MPICH's and Intel MPI's, Slurm's step's variable.
int processes_started() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const text = std::getenv(name);
    int count = 0;
    if (text != nullptr && std::from_chars(text, text + std::strlen(text), count).ec == std::errc() && count > 1)
      return count;
  }
  return 1;
}

}  // namespace

std::string_view to_string(Distribute distribute) {
  return distribute == Distribute::configurations ? "configurations" : "process-ranks";
}

void check_started_alone(Distribute distribute) {
  const int processes = processes_started();
  if (processes == 1) return;
  throw Error::unavailable(
      "started as one of {} MPI processes, and this build has no MPI module (libpsgd_mpi.so) to share out {} among "
      "them; "
      "start one process, or split the grid into sweeps of its own for each node",
      processes, to_string(distribute));
}

}  // namespace psgd::replay
