// Replays a dump from another program and reads two numbers of the result.
// usage: use_psgd DUMP.h5
#include <exception>
#include <iostream>

#include "libpsgd/replay/replay.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    psgd::replay::ReplaySpec spec;
    spec.files = {argv[1]};
    spec.power_sgd.matrix_approximation_rank = 2;
    const psgd::replay::ReplayResult result = psgd::replay::run_replay(spec);
    std::cout << "compressed " << result.summary.compression_stats.rate << " times, mean relative error "
              << result.summary.relative_error.mean << '\n';
    return result.complete ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
