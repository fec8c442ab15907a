#include "tools/common/options.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <boost/program_options.hpp>

#include "libpsgd/base/error.hpp"
#include "libpsgd/base/output_file.hpp"
#include "tools/common/version.hpp"

namespace psgd::tools {
namespace {

namespace po = boost::program_options;

constexpr unsigned int help_width = 110;
constexpr unsigned int help_text_width = 58;

std::string default_as_text(const report::Json& value) {
  if (value.is_null()) return "none";
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

/// An option without a value on the command line.
po::typed_value<std::string>* flag() { return po::value<std::string>()->zero_tokens()->implicit_value("on"); }

void print(const std::string& text) {
  OutputFile out("-");
  out.write(text);
  out.commit();
}

po::multiple_occurrences repeated(const std::string& option, int prefix) {
  po::multiple_occurrences error;
  error.set_prefix(prefix);
  error.set_option_name(option);
  return error;
}

/// The options found, as texts. Throws an error of Boost's that names an option found twice.
std::map<std::string, std::string, std::less<>> to_texts(const po::parsed_options& parsed) {
  // Boost itself does not mind a switch that is repeated.
  std::set<std::string> seen;
  for (const po::option& option : parsed.options) {
    if (option.string_key.empty() || seen.insert(option.string_key).second) continue;
    throw repeated(option.string_key, parsed.m_options_prefix);
  }
  po::variables_map variables;
  po::store(parsed, variables);
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [name, value] : variables) texts.emplace(name, value.as<std::string>());
  return texts;
}

}  // namespace

struct Options::Groups {
  std::vector<std::unique_ptr<po::options_description>> all;
  po::options_description in_file;  // the same, but there a switch has a value
  po::options_description only_command_line{"General", help_width, help_text_width};
};

Options::Options(ProgramText text) : text_(std::move(text)), groups_(std::make_unique<Groups>()) {
  groups_->only_command_line.add_options()("help,h", flag(), "show this help and exit")("version", flag(),
                                                                                        "show the version and exit")(
      "config", po::value<std::string>()->value_name("FILE"),
      "read options from FILE, a line NAME = VALUE each, # begins a comment; the command line overrides them");
}

Options::~Options() = default;

Options& Options::group(const std::string& caption) {
  groups_->all.push_back(std::make_unique<po::options_description>(caption, help_width, help_text_width));
  return *this;
}

Options& Options::add(const std::string& names, const std::string& argument, Setting setting, const std::string& help,
                      const std::string& default_text) {
  const std::string shown = default_text.empty() ? default_as_text(setting.value()) : default_text;
  const std::string text = fmt::format("{} (default: {})", help, shown);
  groups_->all.back()->add_options()(names.c_str(), po::value<std::string>()->value_name(argument), text.c_str());
  entries_.push_back({names.substr(0, names.find(',')), std::move(setting)});
  groups_->in_file.add_options()(entries_.back().name.c_str(), po::value<std::string>());
  return *this;
}

Options& Options::add_switch(const std::string& name, bool& target, const std::string& help) {
  groups_->all.back()->add_options()(name.c_str(), flag(), help.c_str());
  groups_->in_file.add_options()(name.c_str(), po::value<std::string>());
  entries_.push_back({name, on_off(target)});
  return *this;
}

std::string Options::help() const {
  std::ostringstream out;
  out << "Usage: " << text_.name << ' ' << text_.usage << "\n\n" << text_.summary << "\n\n";
  for (const auto& group : groups_->all) out << *group << '\n';
  out << groups_->only_command_line << '\n' << text_.epilogue;
  return out.str();
}

std::optional<std::vector<std::string>> Options::parse(const std::vector<std::string>& arguments) {
  std::vector<std::string> positional;
  Texts texts;
  try {
    po::options_description all;
    for (const auto& group : groups_->all) all.add(*group);
    all.add(groups_->only_command_line);
    namespace style = po::command_line_style;
    const po::parsed_options parsed =
        po::command_line_parser(arguments).options(all).style(style::unix_style & ~style::allow_guessing).run();
    for (const po::option& option : parsed.options) {
      if (option.string_key.empty()) positional.insert(positional.end(), option.value.begin(), option.value.end());
    }
    texts = to_texts(parsed);
  } catch (const po::error& error) {
    throw Error::usage("{} (see {} --help)", error.what(), text_.name);
  }
  if (texts.contains("help") || texts.contains("version")) {
    print(texts.contains("help") ? help() : fmt::format("{} {}\n", text_.name, version));
    return std::nullopt;
  }
  if (const auto config = texts.find("config"); config != texts.end()) {
    Texts from_file = read_config(config->second);
    config_file_ = config->second;
    for (const auto& [name, text] : texts) from_file.erase(name);
    assign(from_file, config->second + ": ");
  }
  assign(texts, "");
  return positional;
}

Options::Texts Options::read_config(const std::string& path) const {
  std::ifstream stream(path);
  // A directory opens, but cannot be read.
  if (!stream || (stream.peek() == std::ifstream::traits_type::eof() && stream.bad())) {
    throw Error::input("{}: cannot read the configuration file", path);
  }
  po::parsed_options parsed(&groups_->in_file);
  try {
    parsed = po::parse_config_file(stream, groups_->in_file, true);
  } catch (const po::error& error) {
    throw Error::usage("{}: {}", path, error.what());
  }
  for (const po::option& option : parsed.options) {
    if (option.unregistered) {
      throw Error::usage("{}: there is no option '{}' for a configuration file (see {} --help)", path,
                         option.string_key, text_.name);
    }
  }
  try {
    return to_texts(parsed);
  } catch (const po::error& error) {
    throw Error::usage("{}: {}", path, error.what());
  }
}

void Options::assign(const Texts& texts, const std::string& place) {
  for (const Entry& entry : entries_) {
    const auto found = texts.find(entry.name);
    if (found == texts.end()) continue;
    given_.insert(entry.name);
    try {
      entry.setting.assign(found->second);
    } catch (const BadValue& error) {
      throw Error::usage("{}option '--{}': {}", place, entry.name, error.what());
    }
  }
}

report::Json Options::values() const {
  report::Json values = report::Json::object();
  for (const Entry& entry : entries_) {
    std::string name = entry.name;
    std::replace(name.begin(), name.end(), '-', '_');
    values[name] = entry.setting.value();
  }
  return values;
}

}  // namespace psgd::tools
