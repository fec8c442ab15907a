#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "libpsgd/base/log.hpp"
#include "libpsgd/base/progress.hpp"
#include "tools/common/common_options.hpp"
#include "tools/common/progress_bar.hpp"

namespace psgd::tools {

/// Whole lines on standard error, escaped so that each stays one line; what cannot be written is lost without a fault.
void print_error_line(std::string_view line);

/// Everything a program says beside its results: log lines and the progress bar, on standard error, from any thread.
class Console {
 public:
  Console(std::string program, const CommonOptions& options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();

  /// Prints lines of the wanted levels as "PROGRAM: LEVEL: LINE". Valid while the console lives.
  [[nodiscard]] LogSink log_sink();

  /// Draws the bar, or nothing, as --progress wants it.
  [[nodiscard]] Progress& progress() noexcept { return progress_; }

 private:
  /// The bar behind the lock that keeps it and log lines apart.
  class LockedProgress final : public Progress {
   public:
    explicit LockedProgress(Console& console) : console_(console) {}
    void begin(std::uint64_t total, std::string_view unit) override;
    void advance(std::uint64_t units) override;
    void end() override;

   private:
    Console& console_;
  };

  void log(LogLevel level, const std::string& line);

  std::string program_;
  LogLevel least_level_;
  bool quiet_;
  bool draws_;
  std::mutex mutex_;
  ProgressBar bar_;
  LockedProgress progress_;
};

}  // namespace psgd::tools
