#include "libpsgd/replay/pass_plan.hpp"

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/thread_pool.hpp"
#include "libpsgd/compress/registry.hpp"
#include "libpsgd/replay/spectrum_watch.hpp"

namespace psgd::replay {
namespace {

MemoryPlan plan_pass(const std::vector<ResolvedSpec>& resolved, const std::vector<std::size_t>& members,
                     const Selection& selection, const SweepRequest& request) {
  std::vector<ResolvedSpec> together;
  together.reserve(members.size());
  for (const std::size_t member : members) together.push_back(resolved[member]);
  const ReplaySpec& common = together.front().spec;
  std::uint64_t beside = 0;
  if (request.spectrum.every > 0)
    beside =
        spectrum_bytes(selection, together.front().dtype, common.threads > 0 ? common.threads : available_processors());
  return plan_memory(together, selection, beside);
}

}  // namespace

std::vector<Pass> form_passes(const std::vector<ResolvedSpec>& resolved, const dump::Description& dump,
                              const SweepRequest& request) {
  std::vector<Pass> passes;
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    const compress::HookEntry& hook = compress::hook(resolved[i].spec.hook);
    const Selection selection = select(dump, resolved[i].spec, hook);
    bool placed = false;
    for (Pass& pass : passes) {
      if (pass.dtype != resolved[i].dtype || pass.padding != hook.padding) continue;
      std::vector<std::size_t> members = pass.members;
      members.push_back(i);
      try {
        pass.memory = plan_pass(resolved, members, pass.selection, request);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::unavailable) throw;
        continue;
      }
      pass.members = std::move(members);
      placed = true;
      break;
    }
    if (!placed)
      passes.push_back({{i}, resolved[i].dtype, hook.padding, selection, plan_pass(resolved, {i}, selection, request)});
  }
  return passes;
}

}  // namespace psgd::replay
