#include "io/dataset/files/file_per_sample.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/core/error.h"

namespace stoker {

FilePerSample::FilePerSample(const Storage& tier, uint64_t max_bytes)
    : tier_(tier), max_bytes_(std::min(max_bytes, UINT64_MAX - 1)) {}

Bytes FilePerSample::read(const std::string& key, uint64_t bytes, Buffer& scratch) const {
  tier_.read(key, scratch, request(key, bytes).range);
  const bool changed = scratch.size() != bytes && scratch.size() <= max_bytes_;
  if (changed) tier_.read(key, scratch, {0, max_bytes_ + 1});
  if (scratch.size() <= max_bytes_) return scratch.bytes();
  throw BadSample(BadReason::too_large, fmt::format("the file has more than {} bytes "
                                                    "(dataset.max_file_bytes)",
                                                    max_bytes_));
}

ObjectRange FilePerSample::request(const std::string& key, uint64_t bytes) const {
  return {key, {0, std::min(bytes, max_bytes_) + 1}};
}

}  // namespace stoker
