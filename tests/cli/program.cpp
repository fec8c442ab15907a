#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace psgd::test {
namespace {

constexpr std::chrono::seconds longest_wait{60};
constexpr std::chrono::seconds longest_run{120};
constexpr int could_not_start = 126;

struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
    reading = ends[0];
    writing = ends[1];
  }
  int reading = -1;
  int writing = -1;
};

/// In the child, before exec: only system calls.
void redirect_output(const RunOptions& options, int writing) {
  if (options.close_output) {
    close(STDOUT_FILENO);
    return;
  }
  if (!options.output_path.empty()) writing = open(options.output_path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (writing < 0 || dup2(writing, STDOUT_FILENO) < 0) _exit(could_not_start);
}

void apply(const RunOptions& options) {
  signal(SIGINT, options.ignore_interrupt ? SIG_IGN : SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(could_not_start);
  if (!options.file_size_limit) return;
  const rlimit limit{*options.file_size_limit, *options.file_size_limit};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(could_not_start);
}

/// Appends what can be read; closes the descriptor and sets it to -1 at the end of the stream.
void drain(int& descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  const ssize_t length = read(descriptor, buffer.data(), buffer.size());
  if (length > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(length));
  } else if (length == 0 || errno != EINTR) {
    close(descriptor);
    descriptor = -1;
  }
}

}  // namespace

Running::Running(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options) {
  start(program, arguments, options);
}

void Running::start(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options) {
  const std::string path = std::string(PSGD_BIN_DIR) + "/" + program;
  std::vector<std::string> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  const Pipe out;
  const Pipe err;
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("fork failed");
  if (process_ == 0) {
    dup2(err.writing, STDERR_FILENO);
    redirect_output(options, out.writing);
    apply(options);
    execv(path.c_str(), pointers.data());
    _exit(could_not_start);
  }
  close(out.writing);
  close(err.writing);
  out_ = out.reading;
  err_ = err.reading;
  if (options.close_reader) {
    close(out_);
    out_ = -1;
  }
}

Running::~Running() {
  for (const int descriptor : {out_, err_}) {
    if (descriptor >= 0) close(descriptor);
  }
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Running::signal(int number) const { kill(process_, number); }

bool Running::collect(Clock::time_point deadline) {
  if (out_ < 0 && err_ < 0) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  if (left <= 0) return false;
  std::array<pollfd, 2> waiting{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  if (poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) return errno == EINTR;
  if (waiting[0].revents != 0) drain(out_, outcome_.out);
  if (waiting[1].revents != 0) drain(err_, outcome_.err);
  return true;
}

bool Running::wait_for_error_text(const std::string& text) {
  const Clock::time_point deadline = Clock::now() + longest_wait;
  while (outcome_.err.find(text) == std::string::npos) {
    if (!collect(deadline)) return false;
  }
  return true;
}

Outcome Running::finish() {
  const Clock::time_point deadline = Clock::now() + longest_run;
  while (collect(deadline)) {
  }
  if (Clock::now() >= deadline) kill(process_, SIGKILL);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome_;
}

Outcome run(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options) {
  return Running(program, arguments, options).finish();
}

std::string repository_file(const std::string& name) { return std::string(PSGD_SOURCE_DIR) + "/" + name; }

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace psgd::test
