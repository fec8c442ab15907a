#pragma once

#include "libpsgd/replay/ortho_spec.hpp"
#include "libpsgd/replay/replay.hpp"

namespace psgd::replay {

/// Times and judges orthogonalization methods: every method on every batch of factors (shape, type and input kind) that
/// `spec` asks for. With a dump it is replayed once a rank, by PyTorch's rule, to find the shapes and the factors
/// themselves.
///
/// Random kinds that a shape is too narrow for are left out. A stop request leaves the batches that are done and marks
/// the result incomplete. Throws Error::usage for unknown names, nothing to do, and shapes with no elements or fewer
/// rows than columns; Error::input where no tensor of the dump is compressed at any rank; and as run_replay.
OrthoResult run_ortho(const OrthoSpec& spec, const ReplayEnvironment& environment = {});

}  // namespace psgd::replay
