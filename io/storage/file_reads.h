#pragma once

#include <cstdint>
#include <string>

#include "io/storage/file_objects.h"

// The ways to read a file of a posix tier, beside the plain pread. Any thread.

namespace stoker {

// TensorFlow's.
inline constexpr uint64_t kReadPiece = 1ull << 20;

// As TensorFlow 1.10 reads a whole file (ReadFile: BufferedInputStream over PosixRandomAccessFile):
// pieces of 1 MiB, each by preads until it is full, and an empty one ends the file, whose size
// nobody asks for. So a file of S bytes takes ceil(S / 1 MiB) + 1 preads. `range` begins its pieces
// where it begins, and ends with them where it ends.
void read_to_the_end(const ObjectFile& file, Buffer& out, Range range);

// As pread_file(), by a mapping. A file that shrinks, or a device that fails, is a count or an
// errno, and no SIGBUS: the kernel does the copying.
int64_t read_mapped(const ObjectFile& file, uint8_t* data, uint64_t bytes, uint64_t offset);
// Whether the kernel lets us copy so.
bool can_copy_mapped();

// posix_fadvise on the whole pages around the range; what it answers changes nothing.
void advise(const FileDescriptor& file, uint64_t offset, uint64_t bytes, int advice);

uint64_t page_size();  // of the page cache, in bytes

}  // namespace stoker
