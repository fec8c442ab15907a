#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libpsgd/base/error.hpp"

namespace psgd::tools {

/// The exit codes, the same for every program.
enum ExitCode : int {
  exit_done = 0,
  exit_internal = 1,
  exit_usage = 2,
  exit_input = 3,
  exit_unavailable = 4,
  exit_interrupted = 130,
};

ExitCode exit_code(ErrorKind kind);

/// The paragraph of --help that lists them.
std::string exit_code_help();

/// What main() does around a program: keeps the standard descriptors taken, lets writing to a closed pipe and to a full
/// file fail with an error rather than a signal, makes SIGINT and SIGTERM requests to stop, and turns every exception
/// into one line "PROGRAM: error: MESSAGE" on standard error and an exit code.
int run_main(const std::string& program, int argc, char** argv,
             const std::function<int(const std::vector<std::string>& arguments)>& run);

}  // namespace psgd::tools
