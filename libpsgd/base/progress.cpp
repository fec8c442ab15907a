#include "libpsgd/base/progress.hpp"

namespace psgd {
namespace {

class NoProgress final : public Progress {
 public:
  void begin(std::uint64_t /*total*/, std::string_view /*unit*/) override {}
  void advance(std::uint64_t /*units*/) override {}
  void end() override {}
};

}  // namespace

Progress& no_progress() {
  static NoProgress none;
  return none;
}

}  // namespace psgd
