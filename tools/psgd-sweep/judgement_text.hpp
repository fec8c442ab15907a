#pragma once

#include "libpsgd/replay/advice.hpp"
#include "libpsgd/report/format.hpp"

namespace psgd::tools::sweep {

/// Where each layer of the recommended configuration, or of the first when none is recommended, stops paying.
void write_layers(const psgd::replay::SweepResult& sweep, const psgd::replay::Advice& advice, const report::Sink& sink);

/// The ranks planned layer by layer, if there is a plan.
void write_plan(const psgd::replay::SweepResult& sweep, const psgd::replay::Advice& advice, const report::Sink& sink);

/// "2-128", "2+", or "" for never.
std::string ranks_text(const std::optional<model::ProcessRankRange>& range);

}  // namespace psgd::tools::sweep
