#include "libpsgd/dump/storage.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "libpsgd/base/error.hpp"

namespace psgd::dump::hdf5 {
namespace {

constexpr H5Z_filter_t lzf_filter = 32000;

bool built_in(H5Z_filter_t id) { return id >= H5Z_FILTER_DEFLATE && id <= H5Z_FILTER_SCALEOFFSET; }

Shape chunk_extents(const Dataset& dataset, hid_t creation) {
  std::array<hsize_t, H5S_MAX_RANK> extents{};
  const int dimensions =
      call(dataset.place(), "read its chunk extents", H5Pget_chunk, creation, int{H5S_MAX_RANK}, extents.data());
  Shape chunk(extents.begin(), extents.begin() + dimensions);
  const bool sound = std::all_of(chunk.begin(), chunk.end(), [](std::int64_t extent) {
    return extent > 0 && extent <= std::numeric_limits<std::uint32_t>::max();
  });
  if (!sound || chunk.size() != dataset.extents().size()) {
    throw Error::input("{}: {}: chunks of {} do not fit its extents {}", dataset.file(), dataset.path(),
                       to_string(chunk), to_string(dataset.extents()));
  }
  return chunk;
}

std::size_t bytes_of_chunk(const Dataset& dataset, const Shape& chunk, std::size_t element_size) {
  std::uint64_t bytes = element_size;
  for (const std::int64_t extent : chunk) {
    if (static_cast<std::uint64_t>(extent) > largest_chunk / bytes) {
      throw Error::input("{}: {}: chunks of {} hold more than {} MiB; repack it with smaller ones: h5repack -l CHUNK=…",
                         dataset.file(), dataset.path(), to_string(chunk), largest_chunk >> 20);
    }
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

Filter read_filter(const Dataset& dataset, hid_t creation, unsigned index) {
  unsigned flags = 0;
  unsigned config = 0;
  std::array<unsigned, 8> values{};
  std::size_t count = values.size();
  std::array<char, 64> name{};
  Filter filter;
  filter.id = call(dataset.place(), "read its filters", H5Pget_filter2, creation, index, &flags, &count, values.data(),
                   name.size(), name.data(), &config);
  name.back() = '\0';
  filter.name = name.data();
  std::replace_if(
      filter.name.begin(), filter.name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (filter.id == H5Z_FILTER_SHUFFLE) filter.element_size = count > 0 ? values[0] : 0;
  return filter;
}

void read_chunking(const Dataset& dataset, hid_t creation, Storage& storage) {
  storage.layout = Storage::Layout::chunked;
  storage.chunk = chunk_extents(dataset, creation);
  storage.chunk_bytes = bytes_of_chunk(dataset, storage.chunk, storage.element_size);
  const int filters = call(dataset.place(), "read its filters", H5Pget_nfilters, creation);
  for (int i = 0; i < filters; ++i) {
    storage.filters.push_back(read_filter(dataset, creation, static_cast<unsigned>(i)));
  }
  unsigned options = 0;
  call(dataset.place(), "read its chunk options", H5Pget_chunk_opts, creation, &options);
  storage.partial_chunks_unfiltered = options != 0;
}

// A contiguous dataset lies in one piece, so its extents cannot claim more than the file has.
void check_fits_file(const Dataset& dataset) {
  const Handle file(call(dataset.place(), "look up its file", H5Iget_file_id, dataset.id()), H5Fclose);
  hsize_t size = 0;
  call(dataset.place(), "read the file's size", H5Fget_filesize, file.get(), &size);
  const auto lock = enter_library();
  const hsize_t stored = H5Dget_storage_size(dataset.id());
  if (stored > size) {
    throw Error::input("{}: {}: claims {} bytes of values in a file of {}", dataset.file(), dataset.path(), stored,
                       size);
  }
}

struct Selection {
  Handle file;
  Handle memory;
};

Selection select_box(const Dataset& dataset, const Shape& begin, const Shape& end) {
  std::array<hsize_t, H5S_MAX_RANK> start{};
  std::array<hsize_t, H5S_MAX_RANK> count{};
  for (std::size_t axis = 0; axis < begin.size(); ++axis) {
    start[axis] = static_cast<hsize_t>(begin[axis]);
    count[axis] = static_cast<hsize_t>(end[axis] - begin[axis]);
  }
  const Place place = dataset.place();
  Selection selection;
  selection.file = Handle(call(place, "read its extents", H5Dget_space, dataset.id()), H5Sclose);
  call(place, "select a part", H5Sselect_hyperslab, selection.file.get(), H5S_SELECT_SET, start.data(), nullptr,
       count.data(), nullptr);
  selection.memory = Handle(
      call(place, "select a part", H5Screate_simple, static_cast<int>(begin.size()), count.data(), nullptr), H5Sclose);
  return selection;
}

}  // namespace

void read_box(const Dataset& dataset, hid_t memory, const Shape& begin, const Shape& end, void* out) {
  const Selection box = select_box(dataset, begin, end);
  call(dataset.place(), "read", H5Dread, dataset.id(), memory, box.memory.get(), box.file.get(), H5P_DEFAULT, out);
}

void write_box(Dataset& dataset, hid_t memory, const Shape& begin, const Shape& end, const void* values) {
  const Selection box = select_box(dataset, begin, end);
  call(dataset.place(), "write", H5Dwrite, dataset.id(), memory, box.memory.get(), box.file.get(), H5P_DEFAULT, values);
}

void refuse_outside_storage(const Dataset& dataset) {
  const Handle creation = dataset.creation();
  if (call(dataset.place(), "read its storage layout", H5Pget_layout, creation.get()) == H5D_VIRTUAL) {
    throw Error::input(
        "{}: {} is a virtual dataset, whose values lie in other files; copy it into one: h5repack -l CONTI",
        dataset.file(), dataset.path());
  }
  if (call(dataset.place(), "read its storage layout", H5Pget_external_count, creation.get()) > 0) {
    throw Error::input("{}: {} keeps its values in external files; copy it into one: h5repack -l CONTI", dataset.file(),
                       dataset.path());
  }
}

Storage read_storage(const Dataset& dataset) {
  const Handle creation = dataset.creation();
  Storage storage;
  storage.element_size = H5Tget_size(dataset.type().get());
  if (storage.element_size == 0) throw Error::input("{}: {}: has a type of no size", dataset.file(), dataset.path());
  switch (call(dataset.place(), "read its storage layout", H5Pget_layout, creation.get())) {
    case H5D_COMPACT:
      storage.layout = Storage::Layout::compact;
      break;
    case H5D_CONTIGUOUS:
      storage.layout = Storage::Layout::contiguous;
      check_fits_file(dataset);
      break;
    case H5D_CHUNKED:
      read_chunking(dataset, creation.get(), storage);
      break;
    default:
      throw Error::input("{}: {}: has an unknown storage layout", dataset.file(), dataset.path());
  }
  return storage;
}

void require_known_filters(const Dataset& dataset, const Storage& storage, bool plugins_allowed) {
  for (const Filter& filter : storage.filters) {
    if (!built_in(filter.id) && !plugins_allowed) {
      throw Error::input("{}: {}: the filter {} ({}) is not read; {}", dataset.file(), dataset.path(), filter.id,
                         filter.name.empty() ? "without a name" : filter.name,
                         filter.id == lzf_filter
                             ? "write it again with h5py and compression=\"gzip\" or none (h5repack lacks lzf)"
                             : "repack it where the filter is installed: h5repack -f SHUF -f GZIP=1 OLD.h5 NEW.h5");
    }
    const bool available = call(dataset.place(), "look for a filter", H5Zfilter_avail, filter.id) > 0;
    if (!available) {
      throw Error::input(
          "{}: {}: the filter {} ({}) is not installed; repack it where it is: h5repack -f SHUF -f GZIP=1 "
          "OLD.h5 NEW.h5",
          dataset.file(), dataset.path(), filter.id, filter.name);
    }
  }
}

std::uint64_t stored_chunk_bytes(const Dataset& dataset, const Shape& origin) {
  std::array<hsize_t, H5S_MAX_RANK> offset{};
  std::copy(origin.begin(), origin.end(), offset.begin());
  hsize_t bytes = 0;
  const auto lock = enter_library();
  if (H5Dget_chunk_storage_size(dataset.id(), offset.data(), &bytes) >= 0) return bytes;
  // A chunk that is not there is a size of zero or, next to others that are, a failure of this very function.
  if (failing_function() != "H5D__get_chunk_storage_size") throw_failure(dataset.place(), "look up a chunk");
  H5Eclear2(H5E_DEFAULT);
  return 0;
}

std::uint32_t read_stored_chunk(const Dataset& dataset, const Shape& origin, std::byte* out) {
  std::array<hsize_t, H5S_MAX_RANK> offset{};
  std::copy(origin.begin(), origin.end(), offset.begin());
  std::uint32_t filter_mask = 0;
  call(dataset.place(), "read a chunk", H5Dread_chunk, dataset.id(), H5P_DEFAULT, offset.data(), &filter_mask,
       static_cast<void*>(out));
  return filter_mask;
}

std::optional<Shape> first_unwritten(const Dataset& dataset, const Storage& storage, const Shape& begin,
                                     const Shape& end) {
  std::optional<Shape> found;
  if (storage.layout == Storage::Layout::chunked) {
    for_each_chunk(storage.chunk, begin, end, [&](const Shape& origin) {
      if (stored_chunk_bytes(dataset, origin) == 0) found = origin;
      return !found;
    });
  } else if (storage.layout == Storage::Layout::contiguous) {
    const auto lock = enter_library();
    if (H5Dget_storage_size(dataset.id()) == 0) found = Shape(begin.size(), 0);
  }
  return found;
}

void require_written(const Dataset& dataset, const Storage& storage, const Shape& begin, const Shape& end) {
  if (const auto place = first_unwritten(dataset, storage, begin, end)) {
    throw Error::input("{}: {}: its values from {} on were never written", dataset.file(), dataset.path(),
                       to_string(*place));
  }
}

}  // namespace psgd::dump::hdf5
