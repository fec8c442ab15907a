#include "tools/common/main.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "libpsgd/base/interrupt.hpp"
#include "libpsgd/dump/exit_handler.hpp"
#include "tools/common/console.hpp"

namespace psgd::tools {
namespace {

/// A standard descriptor that is closed would be given to the next file opened, and results written into that. Each is
/// opened the wrong way round, so that using it stays an error.
void occupy_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // The lowest free number is the one just found to be closed.
    [[maybe_unused]] const int opened = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int report_failure(const std::string& program, const std::string& message, ExitCode code) {
  print_error_line(fmt::format("{}: error: {}", program, message));
  return code;
}

}  // namespace

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return exit_internal;
    case ErrorKind::usage:
      return exit_usage;
    case ErrorKind::input:
      return exit_input;
    case ErrorKind::unavailable:
      return exit_unavailable;
    case ErrorKind::interrupted:
      return exit_interrupted;
  }
  return exit_internal;
}

std::string exit_code_help() {
  return "Exit codes: 0 done, 1 internal fault, 2 usage, 3 bad or unreadable input (or output that cannot be "
         "written),\n"
         "4 not available here (part not built, no device, memory limit too small), 130 interrupted: a first SIGINT "
         "or\n"
         "SIGTERM finishes the step in hand and writes what is complete, a second one ends at once.\n";
}

int run_main(const std::string& program, int argc, char** argv,
             const std::function<int(const std::vector<std::string>& arguments)>& run) {
  try {
    occupy_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    dump::forgo_hdf5_exit_handler();
    install_interrupt_handlers();
    return run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const Error& error) {
    return report_failure(program, error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report_failure(program, "there is not enough memory; try --memory-limit or fewer steps", exit_unavailable);
  } catch (const std::exception& error) {
    return report_failure(program, fmt::format("internal fault: {}", error.what()), exit_internal);
  } catch (...) {
    return report_failure(program, "internal fault of an unknown kind", exit_internal);
  }
}

}  // namespace psgd::tools
