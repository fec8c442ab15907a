#pragma once

#include "libpsgd/replay/advice.hpp"

namespace psgd::replay {

/// The cluster that times and break-even points are reckoned with: the one given, its number of process ranks filled
/// in, or else a network without latency.
model::Cluster cluster_of(const SweepResult& sweep, const AdviceOptions& options);

/// Whether any parameter was compressed.
bool compresses(const ConfigurationResult& configuration);

/// What compressing one parameter takes of a step, its share by elements; as measured here.
double compress_seconds(const SweepResult& sweep, const ConfigurationResult& configuration, std::size_t parameter);

/// Bytes, times and break-even points of one configuration and its layers.
JudgedConfiguration judge(const SweepResult& sweep, std::size_t index, const AdviceOptions& options);

/// Marks the configurations that no other beats in both error and cost: predicted time, or bytes without a network.
void mark_front(std::vector<JudgedConfiguration>& configurations);

}  // namespace psgd::replay
