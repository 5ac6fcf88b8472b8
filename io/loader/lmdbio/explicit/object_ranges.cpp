#include "io/loader/lmdbio/explicit/object_ranges.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "io/core/error.h"

namespace stoker {

ObjectRanges::ObjectRanges(const Storage& tier, std::string key)
    : tier_(tier), key_(std::move(key)) {
  check_key(key_);
  const FileTree* const files = files_of(tier);
  if (files == nullptr || files->access() == FileAccess::direct) return;
  file_.emplace(files->open(key_, FileAccess::buffered));
}

void ObjectRanges::read(uint64_t offset, std::span<uint8_t> out) {
  if (out.empty()) return;
  try {
    if (file_) return file_->read_at(offset, out);
    tier_.read(key_, buffer_, {offset, out.size()});
  } catch (const IoError& error) {
    // No system call failed: the file ends before.
    if (file_ && error.errno_value() == 0) cut(offset, out.size());
    throw;
  }
  if (buffer_.size() != out.size()) cut(offset, out.size());
  std::memcpy(out.data(), buffer_.data(), out.size());
}

void ObjectRanges::cut(uint64_t offset, uint64_t bytes) const {
  throw Error(ExitCode::data,
              fmt::format("loader: {} was cut while it was read: bytes {} to {} are missing, which "
                          "were there when the data set was opened: write it anew, while nobody "
                          "reads it",
                          key_, offset, offset + bytes));
}

}  // namespace stoker
