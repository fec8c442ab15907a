#include "libpsgd/dump/foreign/hdf5_tree.hpp"

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/gradient_dataset.hpp"
#include "libpsgd/dump/storage.hpp"
#include "libpsgd/dump/stored_type.hpp"

namespace psgd::dump::foreign {
namespace {

constexpr int deepest = 32;
constexpr std::size_t most_links = std::size_t{1} << 22;

class Hdf5Tree final : public File {
 public:
  explicit Hdf5Tree(const std::filesystem::path& path) : file_(hdf5::File::open(path)) { list(file_, "", 0); }

  void read(std::size_t index, std::span<std::byte> values) override {
    const Tensor& tensor = tensors_[index];
    const hdf5::Handle access = chunk_cache(file_.place(), std::size_t{1} << 20);
    const hdf5::Dataset dataset = file_.reopen_dataset(tensor.key, access.get());
    const hdf5::Storage storage = hdf5::read_storage(dataset);
    hdf5::require_known_filters(dataset, storage, false);
    const Shape origin(tensor.shape.size());
    hdf5::require_written(dataset, storage, origin, tensor.shape);
    hdf5::read_box(dataset, dataset.type().get(), origin, tensor.shape, values.data());
  }

 private:
  void list(const hdf5::Group& group, const std::string& above, int depth) {
    if (depth > deepest) throw Error::input("{}: {}: groups lie too deep", group.file(), group.path());
    for (const std::string& link : group.links()) {
      // Hard links can lead back up, and a file of a few bytes has then no end.
      if (++links_ > most_links) throw Error::input("{}: more than {} links", group.file(), most_links);
      const hdf5::LinkKind kind = group.kind_of(link);
      if (kind == hdf5::LinkKind::group) list(group.open_group(link), above + link + "/", depth + 1);
      if (kind == hdf5::LinkKind::dataset) add(group, link, above);
    }
  }

  void add(const hdf5::Group& group, const std::string& link, const std::string& above) {
    const hdf5::Dataset dataset = group.open_dataset(link);
    const hdf5::Handle type = dataset.type();
    if (H5Tget_class(type.get()) != H5T_FLOAT) return;
    const auto stored = recognize_float(dataset, type.get());
    if (!stored) {
      throw Error::input("{}: {}: stored as {}; gradients are float16, bfloat16, float32 or float64", dataset.file(),
                         dataset.path(), hdf5::describe_type(type.get()));
    }
    Tensor tensor{above + link, dataset.extents(), *stored, 0};
    tensor.numel = numel(tensor.shape);
    tensors_.push_back(std::move(tensor));
  }

  hdf5::File file_;
  std::size_t links_ = 0;
};

}  // namespace

bool is_hdf5_tree(const std::filesystem::path& /*path*/, std::string_view beginning) {
  return beginning.starts_with("\x89HDF\r\n\x1a\n");
}

std::unique_ptr<File> open_hdf5_tree(const std::filesystem::path& path) { return std::make_unique<Hdf5Tree>(path); }

}  // namespace psgd::dump::foreign
