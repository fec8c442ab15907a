#include "libpsgd/dump/foreign/npz.hpp"

#include <zip.h>

#include <array>
#include <limits>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/foreign/npy_header.hpp"
#include "libpsgd/dump/text.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr std::size_t longest_header = std::size_t{1} << 20;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
using Entry = std::unique_ptr<zip_file_t, CloseEntry>;

Archive open_archive(const std::filesystem::path& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string why = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error::input("{}: cannot open the archive: {}", path.string(), why);
}

class Npz final : public File {
 public:
  explicit Npz(const std::filesystem::path& path) : path_(path), archive_(open_archive(path)) {
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) add(static_cast<zip_uint64_t>(i));
  }

  void read(std::size_t index, std::span<std::byte> values) override {
    const Entry entry = open_entry(entries_[index].index, tensors_[index].key);
    std::string header(entries_[index].header_bytes, '\0');
    read_bytes(entry.get(), header.data(), header.size(), tensors_[index].key);
    read_bytes(entry.get(), reinterpret_cast<char*>(values.data()), values.size(), tensors_[index].key);
    // The checksum is looked at when the end is read.
    char beyond = 0;
    if (zip_fread(entry.get(), &beyond, 1) != 0) fail(tensors_[index].key, zip_file_strerror(entry.get()));
  }

 private:
  struct Place {
    zip_uint64_t index = 0;
    std::size_t header_bytes = 0;
  };

  [[nodiscard]] std::string place(const std::string& key) const {
    return fmt::format("{}: {}", path_.string(), make_printable(key));
  }
  [[noreturn]] void fail(const std::string& key, std::string_view why) const {
    throw Error::input("{}: {}", place(key), why);
  }

  [[nodiscard]] Entry open_entry(zip_uint64_t index, const std::string& key) const {
    Entry entry(zip_fopen_index(archive_.get(), index, 0));
    if (!entry) fail(key, zip_strerror(archive_.get()));
    return entry;
  }

  void read_bytes(zip_file_t* entry, char* to, std::size_t count, const std::string& key) const {
    while (count > 0) {
      const zip_int64_t got = zip_fread(entry, to, count);
      if (got < 0) fail(key, zip_file_strerror(entry));
      if (got == 0) fail(key, "it ends too early");
      to += got;
      count -= static_cast<std::size_t>(got);
    }
  }

  /// Looks at an entry's header; its size in the archive has to be what the header says, which also keeps a small file
  /// from claiming a huge array.
  void add(zip_uint64_t index) {
    zip_stat_t status;
    if (zip_stat_index(archive_.get(), index, 0, &status) != 0 || (status.valid & ZIP_STAT_NAME) == 0) {
      throw Error::input("{}: entry {} of the archive cannot be read", path_.string(), index);
    }
    std::string key = status.name;
    if (!key.ends_with(".npy")) fail(key, "no .npy array");
    key.resize(key.size() - 4);
    const Entry entry = open_entry(index, key);
    std::string header(npy_prefix_bytes, '\0');
    read_bytes(entry.get(), header.data(), header.size(), key);
    const auto length = npy_header_bytes(header);
    if (!length || *length > longest_header || *length < npy_prefix_bytes) fail(key, "no .npy array");
    header.resize(*length);
    read_bytes(entry.get(), header.data() + npy_prefix_bytes, *length - npy_prefix_bytes, key);
    const NpyHeader parsed = parse_npy_header(header, place(key));
    Tensor tensor{key, parsed.shape, parsed.stored, numel(parsed.shape)};
    if ((status.valid & ZIP_STAT_SIZE) == 0 || status.size != tensor.bytes() + parsed.bytes) {
      fail(key, fmt::format("{} bytes where its shape needs {}", status.size, tensor.bytes() + parsed.bytes));
    }
    tensors_.push_back(std::move(tensor));
    entries_.push_back({index, parsed.bytes});
  }

  std::filesystem::path path_;
  Archive archive_;
  std::vector<Place> entries_;
};

}  // namespace

bool is_npz(const std::filesystem::path& /*path*/, std::string_view beginning) {
  return beginning.starts_with("PK\x03\x04") || beginning.starts_with("PK\x05\x06");
}

std::unique_ptr<File> open_npz(const std::filesystem::path& path) { return std::make_unique<Npz>(path); }

}  // namespace psgd::dump::foreign
