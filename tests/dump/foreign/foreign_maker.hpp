#pragma once

#include <zip.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "libpsgd/base/error.hpp"

namespace psgd::test {

inline void put_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  std::string text;
  for (unsigned shift = 0; shift < 64; shift += 8) text += static_cast<char>(header.size() >> shift & 0xffU);
  return text + header + data;
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& data,
                       const std::string& order = "False", char version = 1) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}\n", type, order, shape);
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < length_bytes; ++i) text += static_cast<char>(dictionary.size() >> 8 * i & 0xffU);
  return text + dictionary + data;
}

/// Entries of an archive: name and contents.
inline void put_zip(const std::filesystem::path& path, const std::vector<std::pair<std::string, std::string>>& entries,
                    bool deflate = false) {
  int code = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, contents] : entries) {
    zip_source_t* const source = zip_source_buffer(archive, contents.data(), contents.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    ASSERT_GE(index, 0) << name;
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

/// What the failure of `action` says; it has to be Error::input.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
    return error.what();
  }
  return "accepted";
}

}  // namespace psgd::test
