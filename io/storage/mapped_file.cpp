#include "io/storage/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/core/error.h"
#include "io/storage/file_tree.h"
#include "io/storage/storage.h"

namespace stoker {

MappedFile::MappedFile(const FileDescriptor& file, size_t bytes, const std::string& path) {
  if (bytes == 0) return;
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw_errno("map", path, errno);
  ::madvise(address, bytes, MADV_HUGEPAGE);  // tmpfs has them; elsewhere it changes nothing
  bytes_ = {static_cast<const uint8_t*>(address), bytes};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

bool MappedFile::fetch(size_t offset, size_t bytes) const {
  auto* const begin = const_cast<uint8_t*>(bytes_.data() + offset);
  const size_t into =
      reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const int result = ::madvise(begin - into, into + bytes, kPopulateRead);
  return result == 0 || (errno != EFAULT && errno != EHWPOISON && errno != EIO);
}

std::optional<MappedFile> map_object(const Storage& tier, const std::string& key) {
  check_key(key);
  const FileTree* files = files_of(tier);
  if (files == nullptr || files->access() == FileAccess::direct) return std::nullopt;
  return files->open(key, FileAccess::buffered).map();
}

}  // namespace stoker
