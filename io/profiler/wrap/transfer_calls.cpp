#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls that move bytes by a descriptor.

namespace stoker {
namespace {

// NOLINTBEGIN(readability-function-size): a rule has the arguments of its function.

constexpr int64_t kAtPosition = -1;

// The bitwise or of their addresses: aligned where all of them are.
const void* all_pieces(const iovec* pieces, int count) {
  uint64_t all = 0;
  for (int i = 0; i < count; ++i) all |= reinterpret_cast<uint64_t>(pieces[i].iov_base);
  return at_address<const void>(all);
}

// The fortified variants have the size of the memory after the arguments of the plain ones.
struct Read {
  template <class... More>
  static void tell(ssize_t result, CallTime time, int fd, void* memory, size_t, More...) {
    if (result >= 0) recorder().read(fd, result, kAtPosition, memory, time);
  }
};

struct ReadAt {
  template <class... More>
  static void tell(ssize_t result, CallTime time, int fd, void* memory, size_t, off64_t offset,
                   More...) {
    if (result >= 0) recorder().read(fd, result, offset, memory, time);
  }
};

struct Write {
  static void tell(ssize_t result, CallTime time, int fd, const void* memory, size_t) {
    if (result >= 0) recorder().wrote(fd, result, kAtPosition, memory, time);
  }
};

struct WriteAt {
  static void tell(ssize_t result, CallTime time, int fd, const void* memory, size_t,
                   off64_t offset) {
    if (result >= 0) recorder().wrote(fd, result, offset, memory, time);
  }
};

struct ReadPieces {
  static void tell(ssize_t result, CallTime time, int fd, const iovec* pieces, int count) {
    if (result >= 0) recorder().read(fd, result, kAtPosition, all_pieces(pieces, count), time);
  }
};

struct WritePieces {
  static void tell(ssize_t result, CallTime time, int fd, const iovec* pieces, int count) {
    if (result >= 0) recorder().wrote(fd, result, kAtPosition, all_pieces(pieces, count), time);
  }
};

// preadv2's offset of -1 is the descriptor's position, as the recorder's is.
struct ReadPiecesAt {
  template <class... Flags>
  static void tell(ssize_t result, CallTime time, int fd, const iovec* pieces, int count,
                   off64_t offset, Flags...) {
    if (result >= 0) recorder().read(fd, result, offset, all_pieces(pieces, count), time);
  }
};

struct WritePiecesAt {
  template <class... Flags>
  static void tell(ssize_t result, CallTime time, int fd, const iovec* pieces, int count,
                   off64_t offset, Flags...) {
    if (result >= 0) recorder().wrote(fd, result, offset, all_pieces(pieces, count), time);
  }
};

// The kernel moves the offsets on, so they are read before the call.
struct CopyOffsets {
  int64_t in, out;
};

int64_t offset_or_position(const off64_t* offset) {
  return offset == nullptr ? kAtPosition : *offset;
}

struct CopyBetween {
  static CopyOffsets before(int, const off64_t* in, int, const off64_t* out, size_t, unsigned) {
    return {offset_or_position(in), offset_or_position(out)};
  }
  static void tell(ssize_t result, CallTime time, int in, off64_t*, int out, off64_t*, size_t,
                   unsigned, CopyOffsets at) {
    if (result < 0) return;
    recorder().read(in, result, at.in, nullptr, time);
    recorder().wrote(out, result, at.out, nullptr, time);
  }
};

struct SendFile {
  static int64_t before(int, int, const off64_t* offset, size_t) {
    return offset_or_position(offset);
  }
  static void tell(ssize_t result, CallTime time, int out, int in, off64_t*, size_t, int64_t at) {
    if (result < 0) return;
    recorder().read(in, result, at, nullptr, time);
    recorder().wrote(out, result, kAtPosition, nullptr, time);
  }
};

using ReadType = ssize_t(int, void*, size_t);
using FortifiedReadType = ssize_t(int, void*, size_t, size_t);
using ReadAtType = ssize_t(int, void*, size_t, off64_t);
using FortifiedReadAtType = ssize_t(int, void*, size_t, off64_t, size_t);
using WriteType = ssize_t(int, const void*, size_t);
using WriteAtType = ssize_t(int, const void*, size_t, off64_t);
using PiecesType = ssize_t(int, const iovec*, int);
using PiecesAtType = ssize_t(int, const iovec*, int, off64_t);
using PiecesAt2Type = ssize_t(int, const iovec*, int, off64_t, int);
using CopyType = ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned);
using SendFileType = ssize_t(int, int, off64_t*, size_t);

// NOLINTEND(readability-function-size)

}  // namespace

void add_transfer_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"read", Read, ReadType>::function(),
           Wrapper<"__read", Read, ReadType>::function(),
           Wrapper<"__read_chk", Read, FortifiedReadType>::function(),
           Wrapper<"pread", ReadAt, ReadAtType>::function(),
           Wrapper<"pread64", ReadAt, ReadAtType>::function(),
           Wrapper<"__pread64", ReadAt, ReadAtType>::function(),
           Wrapper<"__pread_chk", ReadAt, FortifiedReadAtType>::function(),
           Wrapper<"__pread64_chk", ReadAt, FortifiedReadAtType>::function(),
           Wrapper<"write", Write, WriteType>::function(),
           Wrapper<"__write", Write, WriteType>::function(),
           Wrapper<"pwrite", WriteAt, WriteAtType>::function(),
           Wrapper<"pwrite64", WriteAt, WriteAtType>::function(),
           Wrapper<"__pwrite64", WriteAt, WriteAtType>::function(),
           Wrapper<"readv", ReadPieces, PiecesType>::function(),
           Wrapper<"writev", WritePieces, PiecesType>::function(),
           Wrapper<"preadv", ReadPiecesAt, PiecesAtType>::function(),
           Wrapper<"preadv64", ReadPiecesAt, PiecesAtType>::function(),
           Wrapper<"preadv2", ReadPiecesAt, PiecesAt2Type>::function(),
           Wrapper<"preadv64v2", ReadPiecesAt, PiecesAt2Type>::function(),
           Wrapper<"pwritev", WritePiecesAt, PiecesAtType>::function(),
           Wrapper<"pwritev64", WritePiecesAt, PiecesAtType>::function(),
           Wrapper<"pwritev2", WritePiecesAt, PiecesAt2Type>::function(),
           Wrapper<"pwritev64v2", WritePiecesAt, PiecesAt2Type>::function(),
           Wrapper<"copy_file_range", CopyBetween, CopyType>::function(),
           Wrapper<"splice", CopyBetween, CopyType>::function(),
           Wrapper<"sendfile", SendFile, SendFileType>::function(),
           Wrapper<"sendfile64", SendFile, SendFileType>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
