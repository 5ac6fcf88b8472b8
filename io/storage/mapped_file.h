#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "io/core/system/memory.h"

namespace stoker {

class FileDescriptor;
class Storage;

// MADV_POPULATE_READ, for madvise(2): Linux 5.14. The headers may be older than the kernel.
inline constexpr int kPopulateRead = 22;

// A file's bytes as read-only memory, until the object is destroyed. Any thread. Owns the mapping,
// not the descriptor, which may be closed.
//
// Reading a page that the device cannot deliver, or that a shortened file no longer has, ends the
// process (SIGBUS). So use it for files that nobody changes, and only after fetch().
class MappedFile {
 public:
  // The whole file, of `bytes` bytes; 0 bytes map nothing. `path` is for the message of the
  // IoError.
  MappedFile(const FileDescriptor& file, size_t bytes, const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();
  Bytes bytes() const { return bytes_; }
  // Brings a range into memory, in one request and without the risk of SIGBUS. False: it cannot be
  // read. Kernels before 5.14 answer true and do nothing.
  bool fetch(size_t offset, size_t bytes) const;

 private:
  Bytes bytes_;
};

// An object of a tier. Empty: this tier has no files, or wants to see every read of them (it is
// emulated, or goes past the page cache). IoError where the object cannot be opened or mapped.
std::optional<MappedFile> map_object(const Storage& tier, const std::string& key);

}  // namespace stoker
