#include "libpsgd/dump/foreign/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include <nlohmann/json.hpp>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump::foreign {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t longest_header = std::uint64_t{100} << 20;  // the format's own limit

/// The length of the header, little-endian whatever the machine.
std::uint64_t header_length(std::string_view beginning) {
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8U | static_cast<unsigned char>(beginning[i]);
  return length;
}

class Safetensors final : public File {
 public:
  explicit Safetensors(const std::filesystem::path& path) : path_(path), file_(path, std::ios::binary) {
    const std::uint64_t size = std::filesystem::file_size(path);
    std::string beginning(length_bytes, '\0');
    read_bytes(0, beginning.data(), length_bytes);
    const std::uint64_t length = header_length(beginning);
    if (length > longest_header || length > size - length_bytes) fail("the header's length is beyond the file");
    std::string text(length, '\0');
    read_bytes(length_bytes, text.data(), length);
    data_begin_ = length_bytes + length;
    read_header(text, size - data_begin_);
  }

  void read(std::size_t index, std::span<std::byte> values) override {
    read_bytes(data_begin_ + offsets_[index], reinterpret_cast<char*>(values.data()), values.size());
  }

 private:
  [[noreturn]] void fail(std::string_view why) const { throw Error::input("{}: not sound: {}", path_.string(), why); }
  [[noreturn]] void fail(const std::string& key, std::string_view why) const {
    throw Error::input("{}: {}: {}", path_.string(), make_printable(key), why);
  }

  void read_bytes(std::uint64_t at, char* to, std::size_t count) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    if (!file_.read(to, static_cast<std::streamsize>(count))) fail("it ends too early");
  }

  void read_header(const std::string& text, std::uint64_t data_bytes) {
    // The callback sees keys of the outermost object before they replace one of the same name.
    std::vector<std::string> keys;
    const auto note_keys = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth == 1 && event == Json::parse_event_t::key) keys.push_back(parsed.get<std::string>());
      return true;
    };
    const Json header = Json::parse(text, note_keys, false);
    if (!header.is_object()) fail("the header is no JSON object");
    for (const std::string& key : keys) {
      if (key == "__metadata__") continue;
      add(key, header.at(key));
    }
    check_offsets(data_bytes);
  }

  void add(const std::string& key, const Json& entry) {
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") || !entry.contains("data_offsets")) {
      fail(key, "its entry lacks dtype, shape or data_offsets");
    }
    Tensor tensor;
    tensor.key = key;
    tensor.stored.dtype = dtype_of_entry(key, entry["dtype"]);
    try {
      tensor.shape = entry["shape"].get<Shape>();
      tensor.numel = numel(tensor.shape);
    } catch (const std::exception&) {
      fail(key, "its shape is not sound");
    }
    const Json& offsets = entry["data_offsets"];
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      fail(key, "its data_offsets are not two numbers");
    }
    const auto begin = offsets[0].get<std::uint64_t>();
    const auto end = offsets[1].get<std::uint64_t>();
    if (end < begin || end - begin != tensor.bytes()) {
      fail(key, fmt::format("{} bytes from its offsets, {} from its shape", end - begin, tensor.bytes()));
    }
    offsets_.push_back(begin);
    tensors_.push_back(std::move(tensor));
  }

  [[nodiscard]] DType dtype_of_entry(const std::string& key, const Json& name) const {
    constexpr std::array<std::pair<std::string_view, DType>, 4> known{
        {{"F16", DType::float16}, {"BF16", DType::bfloat16}, {"F32", DType::float32}, {"F64", DType::float64}}};
    const std::string text = name.is_string() ? name.get<std::string>() : name.dump();
    for (const auto& [spelling, dtype] : known) {
      if (text == spelling) return dtype;
    }
    fail(key, fmt::format("its dtype is {}; gradients are F16, BF16, F32 or F64", make_printable(text)));
  }

  void check_offsets(std::uint64_t data_bytes) const {
    std::vector<std::size_t> order(tensors_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(offsets_[a], tensors_[a].bytes()) < std::pair(offsets_[b], tensors_[b].bytes());
    });
    std::uint64_t at = 0;
    for (const std::size_t i : order) {
      if (offsets_[i] != at) fail(tensors_[i].key, "its values overlap others, or lie behind a gap");
      at += tensors_[i].bytes();
    }
    if (at != data_bytes) fail(fmt::format("its tensors have {} bytes, the file holds {}", at, data_bytes));
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::uint64_t data_begin_ = 0;
  std::vector<std::uint64_t> offsets_;  ///< of each tensor from data_begin_
};

}  // namespace

bool is_safetensors(const std::filesystem::path& path, std::string_view beginning) {
  if (beginning.size() < length_bytes + 1) return false;
  return path.extension() == ".safetensors" ||
         (beginning[length_bytes] == '{' && header_length(beginning) < longest_header);
}

std::unique_ptr<File> open_safetensors(const std::filesystem::path& path) {
  return std::make_unique<Safetensors>(path);
}

}  // namespace psgd::dump::foreign
