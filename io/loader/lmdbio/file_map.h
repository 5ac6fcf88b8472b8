#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/core/system/memory.h"

namespace stoker {

// A file as read-only memory at an address that the caller may choose. Owns the mapping; moves, no
// copies. Any thread. A page that the file no longer has, or that can't be read, ends the process
// (SIGBUS).
class FileMap {
 public:
  // at: where to map it, page-aligned; if something lies there, no map is made. read_ahead: whether
  // the kernel reads ahead at page faults. IoError if the file can't be opened or has fewer than
  // `bytes` bytes.
  FileMap(const std::string& path, size_t bytes, const uint8_t* at, bool read_ahead);
  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&&) = delete;
  ~FileMap();

  // Was it made? Not where the address is taken.
  explicit operator bool() const { return !bytes_.empty(); }
  Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace stoker
