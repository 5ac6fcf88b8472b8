#include "io/storage/file_reads.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "io/core/error.h"

namespace stoker {
namespace {

// memcpy, but a page that cannot be had ends it instead of the process. How much was copied.
uint64_t copy_mapped(uint8_t* to, const uint8_t* from, uint64_t bytes) {
  uint64_t done = 0;
  while (done < bytes) {
    const iovec target{to + done, bytes - done};
    const iovec source{const_cast<uint8_t*>(from) + done, bytes - done};
    const ssize_t count = ::process_vm_readv(::getpid(), &target, 1, &source, 1, 0);
    if (count <= 0) break;
    done += static_cast<uint64_t>(count);
  }
  return done;
}

}  // namespace

uint64_t page_size() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

void read_to_the_end(const ObjectFile& file, Buffer& out, Range range) {
  // An offset behind the end of all files is an error for pread, but not one of the caller.
  const uint64_t offset = std::min(range.offset, static_cast<uint64_t>(INT64_MAX) / 2);
  std::vector<uint8_t> all;
  const auto piece = std::make_unique_for_overwrite<uint8_t[]>(kReadPiece);
  while (all.size() < range.length) {
    const uint64_t asked = std::min(kReadPiece, range.length - all.size());
    const int64_t count = pread_file(file, piece.get(), asked, offset + all.size());
    if (count < 0) throw_errno("read", file.path, static_cast<int>(-count));
    all.insert(all.end(), piece.get(), piece.get() + count);
    if (static_cast<uint64_t>(count) < asked) break;
  }
  uint8_t* const data = out.resize(all.size());
  if (!all.empty()) std::memcpy(data, all.data(), all.size());
}

int64_t read_mapped(const ObjectFile& file, uint8_t* data, uint64_t bytes, uint64_t offset) {
  const uint64_t skipped = offset % page_size();
  const uint64_t length = skipped + bytes;
  void* const address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.file.get(),
                               static_cast<off_t>(offset - skipped));
  if (address == MAP_FAILED) return -errno;
  const auto unmap = [length](void* mapped) { ::munmap(mapped, length); };
  const std::unique_ptr<void, decltype(unmap)> mapping(address, unmap);
  // Kernels without it fault the pages in while they copy.
  ::madvise(address, length, kPopulateRead);
  const uint64_t done = copy_mapped(data, static_cast<const uint8_t*>(address) + skipped, bytes);
  // Behind the end of a file, the rest of its last page is zeros.
  struct stat status {};
  if (::fstat(file.file.get(), &status) != 0) return -errno;
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < offset + bytes)
    return static_cast<int64_t>(std::min(done, size - std::min(size, offset)));
  if (done == bytes) return static_cast<int64_t>(done);
  // The device failed: pread can tell how.
  const int64_t rest = pread_file(file, data + done, bytes - done, offset + done);
  return rest < 0 ? rest : static_cast<int64_t>(done) + rest;
}

bool can_copy_mapped() {
  const uint8_t from = 1;
  uint8_t to = 0;
  return copy_mapped(&to, &from, 1) == 1;
}

void advise(const FileDescriptor& file, uint64_t offset, uint64_t bytes, int advice) {
  constexpr uint64_t kEnd = static_cast<uint64_t>(INT64_MAX) / 2;
  const uint64_t begin = std::min(offset, kEnd) / page_size() * page_size();
  const uint64_t end = bytes >= kEnd - begin ? 0 : offset + bytes;  // 0: to the file's end
  const uint64_t pages = rounded_up(end - begin, page_size());
  ::posix_fadvise(file.get(), static_cast<off_t>(begin), end == 0 ? 0 : static_cast<off_t>(pages),
                  advice);
}

}  // namespace stoker
