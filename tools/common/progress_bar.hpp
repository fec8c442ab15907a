#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libpsgd/base/progress.hpp"

namespace psgd::tools {

/// How far an operation is.
struct ProgressState {
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
  std::string unit;
  double seconds = 0;  ///< since its beginning
};

/// One line of at most `width` columns: counts, bar, rate and time left; the bar gives way where the width is small.
std::string progress_line(const ProgressState& state, std::size_t width);

/// "7 s", "3 min 20 s", "2 h 05 min"
std::string duration_text(double seconds);

/// A bar on one line of a terminal, drawn anew at most ten times a second and taken away at the end.
class ProgressBar final : public Progress {
 public:
  using Draw = std::function<void(std::string_view)>;
  using Width = std::function<std::size_t()>;

  /// `draw` receives control sequences and text for the terminal; `width` is asked at each drawing.
  ProgressBar(Draw draw, Width width);

  void begin(std::uint64_t total, std::string_view unit) override;
  void advance(std::uint64_t units) override;
  void end() override;

  /// Takes the bar away so that a line can be printed; the next advance() draws it again.
  void hide();

 private:
  using Clock = std::chrono::steady_clock;

  void redraw(Clock::time_point now);

  Draw draw_;
  Width width_;
  ProgressState state_;
  Clock::time_point begun_;
  Clock::time_point drawn_;
  bool visible_ = false;
};

}  // namespace psgd::tools
