#include "tools/common/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "libpsgd/report/escape.hpp"

namespace psgd::tools {
namespace {

constexpr std::size_t longest_line = 4000;  // a binary file taken for a text makes endless messages
constexpr std::size_t usual_width = 80;

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_width;
  return size.ws_col;
}

bool is_capable_terminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
  }
  return "";
}

}  // namespace

void print_error_line(std::string_view line) {
  std::string text = report::escape_control(line.substr(0, longest_line));
  if (line.size() > longest_line) text += " ...";
  write_all(text + "\n");
}

Console::Console(std::string program, const CommonOptions& options)
    : program_(std::move(program)),
      least_level_(options.log_level_value()),
      quiet_(options.quiet),
      draws_(!options.quiet && (options.progress == "on" || (options.progress == "auto" && is_capable_terminal()))),
      bar_(write_all, terminal_width),
      progress_(*this) {}

Console::~Console() { bar_.hide(); }

LogSink Console::log_sink() {
  return [this](LogLevel level, const std::string& line) { log(level, line); };
}

void Console::log(LogLevel level, const std::string& line) {
  if (quiet_ || level < least_level_) return;
  const std::lock_guard lock(mutex_);
  bar_.hide();
  print_error_line(fmt::format("{}: {}: {}", program_, level_name(level), line));
}

void Console::LockedProgress::begin(std::uint64_t total, std::string_view unit) {
  if (!console_.draws_) return;
  const std::lock_guard lock(console_.mutex_);
  console_.bar_.begin(total, unit);
}

void Console::LockedProgress::advance(std::uint64_t units) {
  if (!console_.draws_) return;
  const std::lock_guard lock(console_.mutex_);
  console_.bar_.advance(units);
}

void Console::LockedProgress::end() {
  if (!console_.draws_) return;
  const std::lock_guard lock(console_.mutex_);
  console_.bar_.end();
}

}  // namespace psgd::tools
