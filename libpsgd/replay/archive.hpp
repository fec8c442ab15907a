#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libpsgd/base/error.hpp"

/// Plain values as bytes, in this machine's own representation, so that what is read back is the same bit by bit. One
/// function `visit(archive, value)` a type serves both directions; those of composed types call those of their members.
namespace psgd::replay {

/// Takes values apart.
class ArchiveWriter {
 public:
  static constexpr bool reads = false;

  void bytes(const void* data, std::size_t count) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  /// At most how many elements may follow.
  [[nodiscard]] static std::size_t left() { return SIZE_MAX; }
  [[nodiscard]] const std::vector<std::uint8_t>& content() const noexcept { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Puts them together again. Throws Error::input when the bytes end too early.
class ArchiveReader {
 public:
  static constexpr bool reads = true;

  /// `file` for messages; `content` has to outlive the reader.
  ArchiveReader(std::string file, std::span<const std::uint8_t> content) : file_(std::move(file)), content_(content) {}

  void bytes(void* data, std::size_t count) {
    if (count > left()) fail();
    if (count > 0) std::memcpy(data, content_.data() + at_, count);
    at_ += count;
  }

  [[nodiscard]] std::size_t left() const { return content_.size() - at_; }
  [[noreturn]] void fail() const { throw Error::input("{}: damaged; remove it and begin anew", file_); }

 private:
  std::string file_;
  std::span<const std::uint8_t> content_;
  std::size_t at_ = 0;
};

template <class Archive, class Value>
requires(std::is_arithmetic_v<Value> || std::is_enum_v<Value>) void visit(Archive& archive, Value& value) {
  archive.bytes(&value, sizeof(Value));
}

/// The number of elements of a list, checked against what can follow before memory is taken for it.
template <class Archive>
std::size_t visit_count(Archive& archive, std::size_t count) {
  visit(archive, count);
  if constexpr (Archive::reads) {
    if (count > archive.left()) archive.fail();
  }
  return count;
}

template <class Archive>
void visit(Archive& archive, std::string& value) {
  value.resize(visit_count(archive, value.size()));
  archive.bytes(value.data(), value.size());
}

template <class Archive, class First, class Second>
void visit(Archive& archive, std::pair<First, Second>& value);
template <class Archive, class Value>
void visit(Archive& archive, std::optional<Value>& value);
template <class Archive, class Value>
void visit(Archive& archive, std::vector<Value>& values);
template <class Archive, class Key, class Value>
void visit(Archive& archive, std::map<Key, Value>& values);

template <class Archive, class First, class Second>
void visit(Archive& archive, std::pair<First, Second>& value) {
  visit(archive, value.first);
  visit(archive, value.second);
}

template <class Archive, class Value>
void visit(Archive& archive, std::optional<Value>& value) {
  bool has = value.has_value();
  visit(archive, has);
  if (has && !value) value.emplace();
  if (!has) value.reset();
  if (has) visit(archive, *value);
}

template <class Archive, class Value>
void visit(Archive& archive, std::vector<Value>& values) {
  values.resize(visit_count(archive, values.size()));
  for (Value& value : values) visit(archive, value);
}

template <class Archive, class Key, class Value>
void visit(Archive& archive, std::map<Key, Value>& values) {
  std::vector<std::pair<Key, Value>> list(values.begin(), values.end());
  visit(archive, list);
  if constexpr (Archive::reads) values = std::map<Key, Value>(list.begin(), list.end());
}

/// Several values, one after the other.
template <class Archive, class... Values>
void visit_all(Archive& archive, Values&... values) {
  (visit(archive, values), ...);
}

}  // namespace psgd::replay
