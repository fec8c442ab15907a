#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// Runs the real programs, without a shell, and looks at what they leave: exit code, standard output, standard error.
namespace psgd::test {

/// What a program ended with.
struct Outcome {
  int code = -1;  ///< exit code; 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string output_path;                     ///< standard output goes to this file; empty: it is collected
  bool close_output = false;                   ///< start without a standard output
  bool close_reader = false;                   ///< nobody reads standard output
  bool ignore_interrupt = false;               ///< as nohup and background jobs start programs
  std::optional<std::size_t> file_size_limit;  ///< writing more to a file fails, as on a full disk
  std::string directory;                       ///< to run in; empty: the test's own
};

/// A program while it runs.
class Running {
 public:
  /// `program` is a name in the build's bin folder.
  Running(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options = {});
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  /// Kills it if it still runs.
  ~Running();

  void signal(int number) const;

  /// Collects what it prints until standard error holds `text`. False when it ended or a minute passed before.
  bool wait_for_error_text(const std::string& text);

  /// Collects what it prints until it ends; it is killed after two minutes.
  Outcome finish();

 private:
  using Clock = std::chrono::steady_clock;

  void start(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options);

  /// False when both streams have ended, or at the deadline.
  bool collect(Clock::time_point deadline);

  pid_t process_ = -1;
  int out_ = -1;
  int err_ = -1;
  Outcome outcome_;
};

Outcome run(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options = {});

/// A file in the repository.
std::string repository_file(const std::string& name);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

/// Number of newline characters.
std::size_t count_lines(const std::string& text);

}  // namespace psgd::test
