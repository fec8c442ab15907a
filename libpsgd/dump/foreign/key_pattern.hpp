#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace psgd::dump::foreign {

/// What a key or a file's name says about an array.
struct KeyParts {
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> rank;
  std::string name;  ///< empty: not said
};

/// A text with places for a step's number, a process rank and a parameter's name: "step_{step}/rank{rank}/{name}".
///
/// {step} and {rank} stand for decimal digits, {name} and {any} for any text that is not empty; each but {any} at most
/// once. Everything else stands for itself.
class KeyPattern {
 public:
  /// Throws Error::usage for other places, for one that stands there twice, and for an open brace.
  explicit KeyPattern(std::string text);

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool has_step() const noexcept { return step_ != 0; }
  [[nodiscard]] bool has_rank() const noexcept { return rank_ != 0; }
  [[nodiscard]] bool has_name() const noexcept { return name_ != 0; }

  /// Nothing when the whole of `key` is not of this pattern.
  [[nodiscard]] std::optional<KeyParts> match(const std::string& key) const;

 private:
  void add_place(std::string_view place, int group);

  std::string text_;
  std::regex expression_;
  int step_ = 0;  ///< groups of the expression; 0: no such place
  int rank_ = 0;
  int name_ = 0;
};

}  // namespace psgd::dump::foreign
