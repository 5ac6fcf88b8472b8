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
  // at: page-aligned, and nothing lies there, or none is made. read_ahead: of the kernel, at page
  // faults. IoError where the file can't be opened, or has not so many bytes.
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
