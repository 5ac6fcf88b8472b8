#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

// Reads ranges of an object of a tier into memory that the caller has. If the tier keeps files,
// pread reads them straight there, through the tier's layers. Other tiers read with their own
// read() into a Buffer, and the bytes are copied. So do tiers that read past the page cache,
// because addresses and offsets must then lie on blocks. One thread. IoError as the tier's.
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
