#include "tools/common/progress_bar.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace psgd::tools {
namespace {

constexpr std::chrono::milliseconds redraw_interval{100};
constexpr std::size_t widest_bar = 30;
constexpr std::size_t narrowest_bar = 8;

std::string bar(double fraction, std::size_t cells) {
  const auto filled = static_cast<std::size_t>(fraction * static_cast<double>(cells));
  return " [" + std::string(filled, '#') + std::string(cells - filled, '.') + "]";
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_line(const ProgressState& state, std::size_t width) {
  const double rate = state.seconds > 0 ? static_cast<double>(state.done) / state.seconds : 0;
  const std::string speed = rate > 0 ? fmt::format("  {:.3g} {}/s", rate, state.unit) : "";
  if (state.total == 0) return fmt::format("{} {}{}", state.done, state.unit, speed).substr(0, width);
  const std::uint64_t done = std::min(state.done, state.total);
  const double fraction = static_cast<double>(done) / static_cast<double>(state.total);
  const std::string counts = fmt::format("{}/{} {}", done, state.total, state.unit);
  std::string rest = fmt::format(" {:3.0f}%{}", std::floor(100 * fraction), speed);
  if (rate > 0) rest += "  " + duration_text(static_cast<double>(state.total - done) / rate) + " left";
  const std::size_t text = counts.size() + rest.size() + 3;
  const std::size_t cells = width > text ? std::min(widest_bar, width - text) : 0;
  return (counts + (cells >= narrowest_bar ? bar(fraction, cells) : "") + rest).substr(0, width);
}

ProgressBar::ProgressBar(Draw draw, Width width) : draw_(std::move(draw)), width_(std::move(width)) {}

void ProgressBar::begin(std::uint64_t total, std::string_view unit) {
  state_ = {0, total, std::string(unit), 0};
  begun_ = Clock::now();
  redraw(begun_);
}

void ProgressBar::advance(std::uint64_t units) {
  state_.done += units;
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= redraw_interval) redraw(now);
}

void ProgressBar::end() { hide(); }

void ProgressBar::hide() {
  if (std::exchange(visible_, false)) draw_("\r\x1b[K");
}

void ProgressBar::redraw(Clock::time_point now) {
  state_.seconds = std::chrono::duration<double>(now - begun_).count();
  drawn_ = now;
  visible_ = true;
  // A line as wide as the terminal would wrap on some.
  const std::size_t width = width_();
  draw_(fmt::format("\r{}\x1b[K", progress_line(state_, width > 1 ? width - 1 : 1)));
}

}  // namespace psgd::tools
