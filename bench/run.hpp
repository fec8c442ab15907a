#pragma once

#include <benchmark/benchmark.h>

namespace psgd::bench {

/// What main does in every suite once its benchmarks are registered; returns the exit code.
inline int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace psgd::bench
