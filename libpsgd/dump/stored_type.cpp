#include "libpsgd/dump/stored_type.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace psgd::dump {
namespace {

using hdf5::call;
using hdf5::Dataset;

// The four kinds of number that are read, by the fields of HDF5's description.
struct FloatFormat {
  DType dtype;
  std::size_t size;
  std::size_t sign;
  std::size_t exponent;
  std::size_t exponent_bits;
  std::size_t mantissa_bits;
  std::size_t bias;
};

constexpr std::array float_formats{
    FloatFormat{DType::float16, 2, 15, 10, 5, 10, 15},
    FloatFormat{DType::bfloat16, 2, 15, 7, 8, 7, 127},
    FloatFormat{DType::float32, 4, 31, 23, 8, 23, 127},
    FloatFormat{DType::float64, 8, 63, 52, 11, 52, 1023},
};

}  // namespace

bool is_swapped(H5T_order_t order) {
  return order == (std::endian::native == std::endian::little ? H5T_ORDER_BE : H5T_ORDER_LE);
}

std::optional<StoredType> recognize_float(const Dataset& dataset, hid_t type) {
  const std::size_t size = H5Tget_size(type);
  const H5T_order_t order = H5Tget_order(type);
  if (order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
  if (H5Tget_precision(type) != size * 8 || H5Tget_offset(type) != 0 || H5Tget_norm(type) != H5T_NORM_IMPLIED) {
    return std::nullopt;
  }
  FloatFormat found{};
  std::size_t mantissa = 0;
  call(dataset.place(), "read its type", H5Tget_fields, type, &found.sign, &found.exponent, &found.exponent_bits,
       &mantissa, &found.mantissa_bits);
  found.bias = H5Tget_ebias(type);
  const auto* match = std::find_if(float_formats.begin(), float_formats.end(), [&](const FloatFormat& known) {
    return known.size == size && known.sign == found.sign && known.exponent == found.exponent &&
           known.exponent_bits == found.exponent_bits && known.mantissa_bits == found.mantissa_bits &&
           known.bias == found.bias && mantissa == 0;
  });
  if (match == float_formats.end()) return std::nullopt;
  return StoredType{match->dtype, is_swapped(order)};
}

}  // namespace psgd::dump
