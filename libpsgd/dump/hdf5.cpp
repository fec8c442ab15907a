#include "libpsgd/dump/hdf5.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "libpsgd/base/error.hpp"
#include "libpsgd/dump/storage.hpp"

namespace psgd::dump::hdf5 {
namespace {

namespace fs = std::filesystem;

struct Frames {
  std::string outermost;
  std::string root;
  std::string root_function;
};

// The library's longest messages come from system calls and end in buffer addresses; the system's own words say it all.
std::string shorten(std::string text) {
  constexpr std::string_view marker = "error message = '";
  if (const std::size_t at = text.find(marker); at != std::string::npos) {
    const std::size_t begin = at + marker.size();
    return text.substr(begin, text.find('\'', begin) - begin);
  }
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

herr_t collect_frame(unsigned /*index*/, const H5E_error2_t* frame, void* data) noexcept {
  try {
    auto& frames = *static_cast<Frames*>(data);
    const char* text = frame->desc != nullptr ? frame->desc : "";
    if (frames.outermost.empty()) frames.outermost = text;
    frames.root = text;
    frames.root_function = frame->func_name != nullptr ? frame->func_name : "";
    return 0;
  } catch (...) {  // no exception may pass through the library
    return -1;
  }
}

herr_t collect_link(hid_t /*group*/, const char* name, const H5L_info_t* /*info*/, void* data) noexcept {
  try {
    static_cast<std::vector<std::string>*>(data)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

std::string_view describe(H5L_type_t type) {
  switch (type) {
    case H5L_TYPE_SOFT:
      return "a soft link";
    case H5L_TYPE_EXTERNAL:
      return "an external link";
    default:
      return "a user-defined link";
  }
}

void check_is_readable_hdf5(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw Error::input("{}: {}", path.string(), error ? error.message() : "no such file");
  }
  if (!fs::is_regular_file(status)) {
    throw Error::input("{}: not a regular file; a dump is read at many places and cannot come from a {}", path.string(),
                       fs::is_directory(status) ? "directory" : "pipe or device");
  }
  const Place place{path.native(), {}};
  if (call(place, "look for HDF5's signature", H5Fis_hdf5, path.c_str()) == 0) {
    throw Error::input("{}: not an HDF5 file, or its beginning is damaged", path.string());
  }
}

std::string child(const std::string& parent, const std::string& name) {
  return parent == "/" ? parent + name : parent + "/" + name;
}

}  // namespace

std::unique_lock<std::recursive_mutex> enter_library() {
  static std::recursive_mutex mutex;
  thread_local bool silent = false;
  std::unique_lock lock(mutex);
  if (!silent) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    silent = true;
  }
  return lock;
}

void throw_failure(const Place& place, std::string_view doing) {
  Frames frames;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect_frame, &frames);
  H5Eclear2(H5E_DEFAULT);
  const std::string outermost = shorten(frames.outermost);
  const std::string root = shorten(frames.root);
  std::string message(place.file);
  if (!place.object.empty()) message.append(": ").append(place.object);
  message.append(": cannot ").append(doing);
  if (!outermost.empty()) message.append(" (").append(outermost);
  if (root != outermost) message.append(": ").append(root);
  if (!outermost.empty()) message.append(")");
  if (frames.root.find("unable to lock file") != std::string::npos) {
    message.append("; another program has it open for writing: wait until it is done, or copy the file");
  }
  throw Error(ErrorKind::input, message);
}

std::string failing_function() {
  Frames frames;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, collect_frame, &frames);
  return frames.root_function;
}

void Handle::reset() noexcept {
  if (id_ < 0) return;
  const auto lock = enter_library();
  if (close_(id_) < 0) H5Eclear2(H5E_DEFAULT);
  id_ = H5I_INVALID_HID;
}

Shape Dataset::extents() const {
  const Handle space(call(place(), "read its extents", H5Dget_space, id()), H5Sclose);
  const H5S_class_t kind = call(place(), "read its extents", H5Sget_simple_extent_type, space.get());
  if (kind != H5S_SIMPLE && kind != H5S_SCALAR) throw Error::input("{}: {}: has no extents", file(), path());
  const int dimensions = call(place(), "read its extents", H5Sget_simple_extent_ndims, space.get());
  std::vector<hsize_t> sizes(static_cast<std::size_t>(dimensions));
  call(place(), "read its extents", H5Sget_simple_extent_dims, space.get(), sizes.data(), nullptr);
  Shape shape;
  for (const hsize_t size : sizes) {
    if (size > static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max())) {
      throw Error::input("{}: {}: an extent of {} elements is too large", file(), path(), size);
    }
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

Handle Dataset::type() const { return {call(place(), "read its type", H5Dget_type, id()), H5Tclose}; }

Handle Dataset::creation() const {
  return {call(place(), "read its storage layout", H5Dget_create_plist, id()), H5Pclose};
}

std::string Group::below(const std::string& name) const { return child(path(), name); }

bool Group::has(const std::string& name) const {
  return call({file(), below(name)}, "look up the name", H5Lexists, id(), name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Group::links() const {
  std::vector<std::string> names;
  call(place(), "list its links", H5Literate, id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_link, &names);
  return names;
}

LinkKind Group::kind_of(const std::string& name) const {
  const Place place{file(), path()};
  H5L_info_t info{};
  call(place, "read a link", H5Lget_info, id(), name.c_str(), &info, H5P_DEFAULT);
  if (info.type != H5L_TYPE_HARD) return LinkKind::other;
  const Handle object(call(place, "open an object", H5Oopen, id(), name.c_str(), H5P_DEFAULT), H5Oclose);
  const H5I_type_t type = H5Iget_type(object.get());
  if (type == H5I_GROUP) return LinkKind::group;
  return type == H5I_DATASET ? LinkKind::dataset : LinkKind::other;
}

void Group::check_link(const std::string& name) const {
  const std::string path = below(name);
  if (name.empty() || name == "." || name.find('/') != std::string::npos) {
    throw Error::internal("{}: {}: not the name of one link", file(), path);
  }
  if (!has(name)) throw Error::input("{}: {} is missing", file(), path);
  H5L_info_t info{};
  call({file(), path}, "read the link", H5Lget_info, id(), name.c_str(), &info, H5P_DEFAULT);
  if (info.type != H5L_TYPE_HARD) {
    throw Error::input(
        "{}: {} is {}, which can lead out of the file; only hard links are read: copy the object with h5copy", file(),
        path, describe(info.type));
  }
}

Group Group::open_group(const std::string& name) const {
  check_link(name);
  const std::string path = below(name);
  return {Handle(call({file(), path}, "open the group", H5Gopen2, id(), name.c_str(), H5P_DEFAULT), H5Gclose),
          file_name(), path};
}

Group Group::create_group(const std::string& name) {
  const std::string path = below(name);
  return {Handle(call({file(), path}, "create the group", H5Gcreate2, id(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT,
                      H5P_DEFAULT),
                 H5Gclose),
          file_name(), path};
}

Dataset Group::open_dataset(const std::string& name, hid_t access) const {
  check_link(name);
  Dataset dataset = reopen_dataset(name, access);
  refuse_outside_storage(dataset);
  return dataset;
}

Dataset Group::reopen_dataset(const std::string& name, hid_t access) const {
  const std::string path = below(name);
  Handle handle(call({file(), path}, "open the dataset", H5Dopen2, id(), name.c_str(), access), H5Dclose);
  return {std::move(handle), file_name(), path};
}

Dataset Group::adopt(Handle dataset, const std::string& name) const {
  return {std::move(dataset), file_name(), below(name)};
}

File File::open(const fs::path& path, std::size_t metadata_bytes) {
  check_is_readable_hdf5(path);
  auto name = std::make_shared<const std::string>(path.string());
  const Place place{*name, {}};
  const Handle access(call(place, "prepare opening", H5Pcreate, H5P_FILE_ACCESS), H5Pclose);
  call(place, "prepare opening", H5Pset_fclose_degree, access.get(), H5F_CLOSE_STRONG);
  H5AC_cache_config_t cache{};
  cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
  call(place, "prepare opening", H5Pget_mdc_config, access.get(), &cache);
  cache.max_size = metadata_bytes;
  cache.min_size = std::min(cache.min_size, metadata_bytes);
  cache.initial_size = std::min(cache.initial_size, metadata_bytes);
  call(place, "prepare opening", H5Pset_mdc_config, access.get(), &cache);
  Handle handle(call(place, "open the file", H5Fopen, path.c_str(), unsigned{H5F_ACC_RDONLY}, access.get()), H5Fclose);
  File file;
  static_cast<Group&>(file) = Group(std::move(handle), std::move(name), "/");
  return file;
}

File File::create(const fs::path& path, const fs::path& shown_as) {
  auto name = std::make_shared<const std::string>((shown_as.empty() ? path : shown_as).string());
  const Place place{*name, {}};
  const Handle access(call(place, "prepare creating", H5Pcreate, H5P_FILE_ACCESS), H5Pclose);
  call(place, "prepare creating", H5Pset_fclose_degree, access.get(), H5F_CLOSE_STRONG);
  std::error_code none;
  const unsigned flags = fs::is_empty(path, none) && !none ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
  Handle handle(call(place, "create the file", H5Fcreate, path.c_str(), flags, H5P_DEFAULT, access.get()), H5Fclose);
  File file;
  static_cast<Group&>(file) = Group(std::move(handle), std::move(name), "/");
  file.created_ = true;
  return file;
}

std::uint64_t File::size() const {
  void* handle = nullptr;
  call(place(), "look up its size", H5Fget_vfd_handle, id(), hid_t{H5P_DEFAULT}, &handle);
  struct stat status {};
  if (fstat(*static_cast<const int*>(handle), &status) != 0) {
    throw Error::input("{}: cannot look up its size: {}", file(), std::generic_category().message(errno));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

File::~File() {
  if (id() < 0 || !created_) return;
  const auto lock = enter_library();
  if (H5Fflush(id(), H5F_SCOPE_GLOBAL) >= 0) return;
  discard();
  if (H5Fflush(id(), H5F_SCOPE_GLOBAL) >= 0) return;
  H5Eclear2(H5E_DEFAULT);
  [[maybe_unused]] const hid_t kept = release();
}

void File::discard() noexcept {
  if (id() < 0 || !created_) return;
  const auto lock = enter_library();
  void* handle = nullptr;
  if (H5Fget_vfd_handle(id(), H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
  const int memory = memfd_create("psgd-discarded", MFD_CLOEXEC);
  if (memory < 0) return;
  dup3(memory, *static_cast<const int*>(handle), O_CLOEXEC);
  ::close(memory);
}

void File::flush() { call({file(), {}}, "write", H5Fflush, id(), H5F_SCOPE_GLOBAL); }

void File::close() {
  if (id() < 0) return;
  flush();
  const hid_t handle = release();
  call({file(), {}}, "finish writing", H5Fclose, handle);
}

void allow_plugins(bool allow) {
  const auto lock = enter_library();
  H5PLset_loading_state(allow ? H5PL_FILTER_PLUGIN : 0);
}

}  // namespace psgd::dump::hdf5
