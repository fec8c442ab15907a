// Reading a step of a dump into memory, beside read(2) of the same bytes.
//
// Each case first writes a dump of the shapes of GPT-2-small's layers below TMPDIR (PSGD_BENCH_MIB: about how many MiB
// of float32 a step, 128 unless told) and reads it once, so that the page cache holds it.

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/run.hpp"
#include "libpsgd/dump/reader.hpp"
#include "libpsgd/dump/writer.hpp"
#include "tests/support/temporary_directory.hpp"

namespace psgd::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t layer_elements = std::int64_t{768} * (2304 + 768 + 3072 + 3072);
constexpr std::int64_t steps = 2;

struct Form {
  DType dtype = DType::float32;
  bool filtered = false;
  bool big_endian = false;
  MemoryFormat format = MemoryFormat::contiguous;
};

std::vector<Parameter> parameters_of(const Form& form) {
  const char* chosen = std::getenv("PSGD_BENCH_MIB");
  const std::int64_t mib = chosen != nullptr ? std::max(1, std::atoi(chosen)) : 128;
  const std::int64_t layers = std::max<std::int64_t>(1, (mib << 18) / layer_elements);
  std::vector<Parameter> parameters;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (form.format != MemoryFormat::contiguous) {
      for (int i = 0; i < 3; ++i) {
        parameters.push_back({fmt::format("{}.conv{}", layer, i), {512, 512, 3, 3}, form.dtype, form.format});
      }
      continue;
    }
    for (const std::int64_t rows : {2304, 768, 3072, 3072}) {
      parameters.push_back({fmt::format("{}.{}", layer, parameters.size()), {rows, 768}, form.dtype});
    }
    parameters.push_back({fmt::format("{}.bias", layer), {768}, form.dtype});
  }
  return parameters;
}

/// Page-aligned as a step stream's buffers, and touched. Where memory begins matters: some processors copy at a third
/// of their speed when the target lies a few bytes further into its page than the source.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : data_(static_cast<char*>(::operator new(bytes, std::align_val_t(4096)))), size_(bytes) {
    std::fill_n(data_, bytes, '\0');
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::operator delete(data_, std::align_val_t(4096)); }

  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  char* data_;
  std::size_t size_;
};

/// A dump that lives as long as the program.
class Sample {
 public:
  explicit Sample(const Form& form) {
    WriterOptions options;
    options.parameters = parameters_of(form);
    options.shuffle = form.filtered;
    options.gzip = form.filtered ? 1 : 0;
    options.big_endian = form.big_endian;
    options.durable = false;
    Writer writer(path(), options);
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0, 1e-3F);
    std::vector<float> values(3 << 20);
    for (float& value : values) value = normal(random);
    const std::vector<std::vector<const float*>> gradients{
        std::vector<const float*>(options.parameters.size(), values.data())};
    for (std::int64_t step = 0; step < steps; ++step) writer.append_step<float>(step, gradients);
    writer.close();
  }

  [[nodiscard]] fs::path path() const { return directory_ / "dump.h5"; }

 private:
  test::TemporaryDirectory directory_;
};

const Sample& sample(const std::string& name, const Form& form) {
  static std::map<std::string, Sample> samples;
  return samples.try_emplace(name, form).first->second;
}

template <class T>
void read_by_reader(benchmark::State& state, const std::string& name, const Form& form) {
  Reader reader({sample(name, form).path()}, {0, false, static_cast<std::size_t>(state.range(0))});
  const Description& description = reader.description();
  std::vector<std::size_t> all(description.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const GradientLayout layout = layout_gradients(description.parameters, all);
  const Memory memory(static_cast<std::size_t>(layout.extent) * sizeof(T));
  T* const out[] = {reinterpret_cast<T*>(memory.data())};
  const std::int64_t rank = 0;
  std::size_t step = 0;
  for (auto _ : state) reader.read_step<T>(step++ % steps, {&rank, 1}, layout, out);
  state.SetBytesProcessed(state.iterations() * layout.numel * static_cast<std::int64_t>(size_of(form.dtype)));
}

/// What no reader can beat: the same number of bytes from the same file into memory of the same size.
void read_by_system(benchmark::State& state, const std::string& name, const Form& form) {
  const int file = open(sample(name, form).path().c_str(), O_RDONLY);
  std::int64_t bytes = 0;
  for (const Parameter& parameter : parameters_of(form)) {
    bytes += numel(parameter.shape) * static_cast<std::int64_t>(size_of(form.dtype));
  }
  const Memory memory(static_cast<std::size_t>(bytes));
  constexpr std::size_t piece = std::size_t{4} << 20;
  for (auto _ : state) {
    for (std::size_t done = 0; done < memory.size(); done += piece) {
      const std::size_t wanted = std::min(piece, memory.size() - done);
      if (pread(file, memory.data() + done, wanted, static_cast<off_t>(done)) != static_cast<ssize_t>(wanted)) {
        state.SkipWithError("read failed");
        break;
      }
    }
  }
  close(file);
  state.SetBytesProcessed(state.iterations() * bytes);
}

/// HDF5 alone, with its default cache, as h5py reads.
void read_by_hdf5(benchmark::State& state, const std::string& name, const Form& form) {
  const hid_t file = H5Fopen(sample(name, form).path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  std::int64_t bytes = 0;
  std::vector<std::pair<hid_t, std::vector<float>>> datasets;
  for (const Parameter& parameter : parameters_of(form)) {
    const std::int64_t count = numel(parameter.shape);
    bytes += count * static_cast<std::int64_t>(size_of(form.dtype));
    datasets.emplace_back(H5Dopen2(file, ("gradients/" + parameter.name).c_str(), H5P_DEFAULT),
                          std::vector<float>(static_cast<std::size_t>(count)));
  }
  hsize_t step = 0;
  for (auto _ : state) {
    for (auto& [dataset, values] : datasets) {
      const hid_t space = H5Dget_space(dataset);
      hsize_t start[H5S_MAX_RANK] = {step % steps};
      hsize_t count[H5S_MAX_RANK];
      H5Sget_simple_extent_dims(space, count, nullptr);
      count[0] = 1;
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
      const hid_t memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), count, nullptr);
      H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data());
      H5Sclose(memory);
      H5Sclose(space);
    }
    ++step;
  }
  for (auto& [dataset, values] : datasets) H5Dclose(dataset);
  H5Fclose(file);
  state.SetBytesProcessed(state.iterations() * bytes);
}

void register_all() {
  const std::pair<const char*, Form> forms[] = {
      {"float32", {DType::float32}},
      {"float32_channels_last", {DType::float32, false, false, MemoryFormat::channels_last}},
      {"float32_big_endian", {DType::float32, false, true}},
      {"float16", {DType::float16}},
      {"bfloat16", {DType::bfloat16}},
      {"float64_to_float32", {DType::float64}},
      {"float32_shuffle_gzip", {DType::float32, true}},
      {"float16_shuffle_gzip", {DType::float16, true}},
  };
  for (const auto& [name, form] : forms) {
    const std::string key = name;
    const auto add = [&](const std::string& how, auto body) {
      return benchmark::RegisterBenchmark(fmt::format("{}/{}", key, how).c_str(), body)
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    };
    const Form chosen = form;
    if (!form.filtered) add("read2", [=](benchmark::State& state) { read_by_system(state, key, chosen); });
    if (form.filtered) add("hdf5", [=](benchmark::State& state) { read_by_hdf5(state, key, chosen); });
    add("reader", [=](benchmark::State& state) { read_by_reader<float>(state, key, chosen); })->Arg(1)->Arg(2);
  }
}

}  // namespace
}  // namespace psgd::dump

int main(int argc, char** argv) {
  psgd::dump::register_all();
  return psgd::bench::run(argc, argv);
}
