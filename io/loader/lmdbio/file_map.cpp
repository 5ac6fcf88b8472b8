#include "io/loader/lmdbio/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/file.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace stoker {

FileMap::FileMap(const std::string& path, size_t bytes, const uint8_t* at, bool read_ahead) {
  const FileDescriptor file = open_file("map", path, O_RDONLY);
  struct stat found;
  if (::fstat(file.get(), &found) != 0) throw_errno("map", path, errno);
  if (static_cast<uint64_t>(found.st_size) != bytes) {
    throw IoError("map " + path + ": it has another size than before", 0);
  }
  void* const wanted = const_cast<uint8_t*>(at);
  void* const got =
      ::mmap(wanted, bytes, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, file.get(), 0);
  if (got == MAP_FAILED) return;
  if (got != wanted) {  // a kernel before 4.17 takes the address for a hint
    ::munmap(got, bytes);
    return;
  }
  bytes_ = {static_cast<const uint8_t*>(got), bytes};
  if (!read_ahead) ::madvise(got, bytes, MADV_RANDOM);
}

FileMap::FileMap(FileMap&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

FileMap::~FileMap() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace stoker
