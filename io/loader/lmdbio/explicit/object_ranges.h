#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// Reads ranges of an object of a tier into memory that the caller has. Where the tier keeps files
// they get there straight, by pread through its layers. Of other tiers by their own read() and a
// copy: they fill a Buffer; so do those that read past the page cache, for which addresses and
// offsets must lie on blocks. One thread. IoError as the tier's.
class ObjectRanges {
 public:
  ObjectRanges(const Storage& tier, std::string key);
  // All of `out`. Error(ExitCode::data) where the object has become shorter.
  void read(uint64_t offset, std::span<uint8_t> out);

 private:
  [[noreturn]] void cut(uint64_t offset, uint64_t bytes) const;

  const Storage& tier_;
  const std::string key_;
  std::optional<TreeFile> file_;
  Buffer buffer_;
};

}  // namespace stoker
