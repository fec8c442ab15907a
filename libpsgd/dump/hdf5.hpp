#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "libpsgd/tensor/shape.hpp"

/// HDF5's C library behind owners of its identifiers, every call checked once.
///
/// No other file of ours calls the library without `call`. Errors are Error::input, one line: our context, then the
/// library's outermost message and its root cause.
namespace psgd::dump::hdf5 {

/// Where a call works; read only to word an error. `object` is a path inside the file and may be empty.
struct Place {
  std::string_view file;
  std::string_view object;
};

/// Guards the library, which keeps global state in builds without thread safety, and turns its automatic printing off
/// for the calling thread.
[[nodiscard]] std::unique_lock<std::recursive_mutex> enter_library();

/// Throws Error::input "FILE: OBJECT: doing: outermost message: root cause" from the library's error stack, and clears
/// that.
[[noreturn]] void throw_failure(const Place& place, std::string_view doing);

/// The library's function in which the failure of the call before began; the caller has entered the library.
std::string failing_function();

/// Calls function(args...); a negative result becomes an Error. `doing` completes "cannot …": "open the dataset".
template <class Function, class... Args>
auto call(const Place& place, std::string_view doing, Function function, Args... args) {
  const auto lock = enter_library();
  const auto result = function(args...);
  if (result < 0) throw_failure(place, doing);
  return result;
}

/// Owns one identifier of the library.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) noexcept : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  explicit operator bool() const noexcept { return id_ >= 0; }
  /// Closes and forgets; a failure is ignored. Writers close through File::close, which reports it.
  void reset() noexcept;
  /// Gives the identifier up without closing it.
  [[nodiscard]] hid_t release() noexcept { return std::exchange(id_, H5I_INVALID_HID); }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// A dataset creation property list without time stamps, so that equal contents make equal files.
[[nodiscard]] Handle creation_properties(const Place& place);

/// Something that attributes hang on: a group (a file's root included) or a dataset.
class Object {
 public:
  Object() = default;
  Object(Handle handle, std::shared_ptr<const std::string> file, std::string path)
      : handle_(std::move(handle)), file_(std::move(file)), path_(std::move(path)) {}

  [[nodiscard]] hid_t id() const noexcept { return handle_.get(); }
  [[nodiscard]] Place place() const noexcept { return {*file_, path_}; }
  [[nodiscard]] const std::string& file() const noexcept { return *file_; }
  /// Path inside the file: "/gradients/conv1.weight".
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  [[nodiscard]] bool has_attribute(const char* name) const;
  /// Scalars may also be arrays of one element. Integers of any width (and HDF5's enumerated booleans) are read; text
  /// may be of fixed or variable length. Throws Error::input when the attribute is missing or of another kind.
  [[nodiscard]] std::int64_t read_integer(const char* name) const;
  [[nodiscard]] std::vector<std::int64_t> read_integers(const char* name) const;
  [[nodiscard]] double read_double(const char* name) const;
  [[nodiscard]] std::string read_string(const char* name) const;

  /// Creates the attribute or replaces it.
  void write_integer(const char* name, std::int64_t value);
  void write_integers(const char* name, std::span<const std::int64_t> values);
  void write_double(const char* name, double value);
  void write_string(const char* name, std::string_view value);

 protected:
  [[nodiscard]] const std::shared_ptr<const std::string>& file_name() const noexcept { return file_; }
  [[nodiscard]] hid_t release() noexcept { return handle_.release(); }

 private:
  Handle handle_;
  std::shared_ptr<const std::string> file_;
  std::string path_;
};

class Dataset : public Object {
 public:
  using Object::Object;

  [[nodiscard]] Shape extents() const;
  /// The type as stored.
  [[nodiscard]] Handle type() const;
  /// How it was created: layout, chunks, filters.
  [[nodiscard]] Handle creation() const;
};

/// T of whole-dataset reads and writes below: float, double, std::int32_t, std::int64_t, std::uint8_t, std::uint32_t,
/// std::uint64_t.
template <class T>
hid_t native_type();
template <>
hid_t native_type<float>();
template <>
hid_t native_type<double>();
template <>
hid_t native_type<std::int32_t>();
template <>
hid_t native_type<std::int64_t>();
template <>
hid_t native_type<std::uint8_t>();
template <>
hid_t native_type<std::uint32_t>();
template <>
hid_t native_type<std::uint64_t>();

/// What a link leads to: only hard ones to groups and datasets are of interest.
enum class LinkKind { group, dataset, other };

/// What links hang on. Only hard links are followed: soft, external and user-defined links are refused, as they can
/// lead out of the file.
class Group : public Object {
 public:
  using Object::Object;

  [[nodiscard]] bool has(const std::string& name) const;
  /// Names of all links, in alphabetical order.
  [[nodiscard]] std::vector<std::string> links() const;
  [[nodiscard]] LinkKind kind_of(const std::string& name) const;

  [[nodiscard]] Group open_group(const std::string& name) const;
  [[nodiscard]] Group create_group(const std::string& name);

  /// Refuses external and virtual storage. `access`: a dataset access property list.
  [[nodiscard]] Dataset open_dataset(const std::string& name, hid_t access = H5P_DEFAULT) const;

  /// Opens once more what open_dataset has looked at before.
  [[nodiscard]] Dataset reopen_dataset(const std::string& name, hid_t access) const;

  /// A dataset of this group that was opened or created by hand.
  [[nodiscard]] Dataset adopt(Handle dataset, const std::string& name) const;

  /// Writes a new dataset whole, contiguous, in T's own type.
  template <class T>
  void write(const std::string& name, std::span<const T> values, const Shape& extents);

  /// Reads a dataset whole. Its extents have to be `extents` exactly, its type an integer for an integer T (any width)
  /// and a floating-point number no wider than T for a floating-point T.
  template <class T>
  void read(const std::string& name, std::span<T> values, const Shape& extents) const;

 private:
  void check_link(const std::string& name) const;
  [[nodiscard]] std::string below(const std::string& name) const;
};

/// An open file; as a Group, its root.
class File : public Group {
 public:
  File() = default;
  File(File&&) = default;
  File& operator=(File&&) = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  /// Closes; what cannot be written is discarded.
  ~File();

  /// For reading. Refuses what is not a regular file (a FIFO would block) and what is not HDF5. `metadata_bytes`: what
  /// the library may keep of the file's structure, counted as it lies in the file; in memory it takes up to eight times
  /// that.
  [[nodiscard]] static File open(const std::filesystem::path& path, std::size_t metadata_bytes = std::size_t{4} << 20);
  /// A new file; one that exists and is not empty is an error. `shown_as` stands in errors instead of `path`.
  [[nodiscard]] static File create(const std::filesystem::path& path, const std::filesystem::path& shown_as = {});

  explicit operator bool() const noexcept { return id() >= 0; }
  /// Bytes of the file that is open, whatever its name stands for by now.
  [[nodiscard]] std::uint64_t size() const;
  /// Hands everything to the operating system.
  void flush();
  /// Flushes and closes, and reports failure. Objects of this file have to be gone by then.
  void close();
  /// Gives up on a created file, on disk as it is: what the library still writes goes nowhere. It insists on writing
  /// all it holds before it lets go of a file, and crashes later on when it could not, say on a full disk.
  void discard() noexcept;

 private:
  bool created_ = false;
};

/// Whether the library may load filter plug-ins from now on, in the whole process.
void allow_plugins(bool allow);

}  // namespace psgd::dump::hdf5
