#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libpsgd/report/json.hpp"
#include "tools/common/settings.hpp"

namespace psgd::tools {

/// What a program is called and what its --help says around the options.
struct ProgramText {
  std::string name;      ///< "psgd-replay"
  std::string usage;     ///< "[options] DUMP.h5 [DUMP.h5 …]"
  std::string summary;   ///< one or more paragraphs above the options
  std::string epilogue;  ///< below them: results, exit codes, examples
};

/// The options of a program: on the command line and in a --config file, which the command line overrides.
///
/// Names are taken whole, prefixes are errors; an option given twice is one too, as is a key in the file that no option
/// has. Arguments that are no option are handed back in order.
class Options {
 public:
  explicit Options(ProgramText text);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;
  ~Options();

  /// Begins a group in --help; the options added next belong to it.
  Options& group(const std::string& caption);

  /// `names` is "long-name" or "long-name,s"; `argument` the value's placeholder. --help adds the default, which is the
  /// variable's value now, or `default_text` where that is not empty.
  Options& add(const std::string& names, const std::string& argument, Setting setting, const std::string& help,
               const std::string& default_text = {});

  /// A switch: on when it is given; in a file its value is on or off.
  Options& add_switch(const std::string& name, bool& target, const std::string& help);

  /// Reads the arguments into the variables. Nothing is returned when --help or --version was asked for and printed on
  /// standard output. Throws Error::usage naming the option, Error::input for a configuration file that cannot be read.
  std::optional<std::vector<std::string>> parse(const std::vector<std::string>& arguments);

  /// Whether the option was given, on the command line or in the file.
  [[nodiscard]] bool given(std::string_view name) const { return given_.contains(name); }

  /// Names of all options given, without dashes.
  [[nodiscard]] const std::set<std::string, std::less<>>& given() const noexcept { return given_; }

  /// The configuration file that was read.
  [[nodiscard]] const std::optional<std::string>& config_file() const noexcept { return config_file_; }

  /// Every option's value, spelled with underscores, but not help, version and config.
  [[nodiscard]] report::Json values() const;

  [[nodiscard]] std::string help() const;

  [[nodiscard]] const std::string& program() const noexcept { return text_.name; }

 private:
  struct Entry {
    std::string name;
    Setting setting;
  };
  struct Groups;  // keeps Boost.Program_options out of this header

  using Texts = std::map<std::string, std::string, std::less<>>;

  void assign(const Texts& texts, const std::string& place);
  [[nodiscard]] Texts read_config(const std::string& path) const;

  ProgramText text_;
  std::unique_ptr<Groups> groups_;
  std::vector<Entry> entries_;
  std::set<std::string, std::less<>> given_;
  std::optional<std::string> config_file_;
};

}  // namespace psgd::tools
