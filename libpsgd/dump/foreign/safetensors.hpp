#pragma once

#include "libpsgd/dump/foreign/foreign_file.hpp"

namespace psgd::dump::foreign {

bool is_safetensors(const std::filesystem::path& path, std::string_view beginning);

/// Hugging Face safetensors: eight bytes of length, a JSON header, then the values. The header is believed only where
/// it agrees with the file: extents with offsets, offsets with the size, no gaps and no overlaps. Source:
/// https://github.com/huggingface/safetensors, README, "Format".
std::unique_ptr<File> open_safetensors(const std::filesystem::path& path);

}  // namespace psgd::dump::foreign
