#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls about files that move no bytes.

namespace stoker {
namespace {

// NOLINTBEGIN(readability-function-size): a rule has the arguments of its function.

using Stat = struct stat;

void tell_stat(int result, CallTime time, int directory, const char* path, const Stat& what,
               int flags) {
  if (result != 0) return;
  const bool of_descriptor = (path == nullptr || *path == '\0') && (flags & AT_EMPTY_PATH) != 0;
  if (of_descriptor && directory != AT_FDCWD) {
    recorder().stated(directory, what, time);
  } else if (path != nullptr) {
    recorder().stated(directory, path, what, time);
  }
}

struct StatPath {
  static void tell(int result, CallTime time, const char* path, Stat* what) {
    tell_stat(result, time, AT_FDCWD, path, *what, 0);
  }
};

struct StatDescriptor {
  static void tell(int result, CallTime time, int fd, Stat* what) {
    if (result == 0) recorder().stated(fd, *what, time);
  }
};

struct StatAt {
  static void tell(int result, CallTime time, int directory, const char* path, Stat* what,
                   int flags) {
    tell_stat(result, time, directory, path, *what, flags);
  }
};

// For programs that were linked before glibc 2.33: the first argument is a version.
struct OldStatPath {
  static void tell(int result, CallTime time, int, const char* path, Stat* what) {
    tell_stat(result, time, AT_FDCWD, path, *what, 0);
  }
};

struct OldStatDescriptor {
  static void tell(int result, CallTime time, int, int fd, Stat* what) {
    if (result == 0) recorder().stated(fd, *what, time);
  }
};

struct OldStatAt {
  static void tell(int result, CallTime time, int, int directory, const char* path, Stat* what,
                   int flags) {
    tell_stat(result, time, directory, path, *what, flags);
  }
};

struct StatExtended {
  static void tell(int result, CallTime time, int directory, const char* path, int flags, unsigned,
                   struct statx* extended) {
    if (result != 0) return;
    Stat what{};
    what.st_mode = extended->stx_mode;
    what.st_size = static_cast<off_t>(extended->stx_size);
    what.st_ino = extended->stx_ino;
    what.st_blksize = static_cast<blksize_t>(extended->stx_blksize);
    tell_stat(result, time, directory, path, what, flags);
  }
};

struct Seek {
  static void tell(off64_t result, CallTime time, int fd, off64_t, int) {
    if (result >= 0) recorder().seeked(fd, result, time);
  }
};

// A descriptor may be given although no file is recorded.
struct Map {
  static void tell(void* result, CallTime time, void*, size_t, int, int flags, int fd, off64_t) {
    const bool of_file = fd >= 0 && (flags & MAP_ANONYMOUS) == 0;
    if (result != MAP_FAILED && of_file) recorder().mapped(fd, time);
  }
};

template <bool kDataOnly>
struct Sync {
  static void tell(int result, CallTime time, int fd) {
    if (result == 0) recorder().synced(fd, kDataOnly, time);
  }
};

struct Rename {
  static void tell(int result, CallTime time, const char* from, const char* to) {
    if (result == 0) recorder().renamed(AT_FDCWD, from, AT_FDCWD, to, time);
  }
};

struct RenameAt {
  template <class... Flags>
  static void tell(int result, CallTime time, int from_directory, const char* from,
                   int to_directory, const char* to, Flags...) {
    if (result == 0) recorder().renamed(from_directory, from, to_directory, to, time);
  }
};

using StatPathType = int(const char*, Stat*);
using StatAtType = int(int, const char*, Stat*, int);
using OldStatPathType = int(int, const char*, Stat*);
using OldStatDescriptorType = int(int, int, Stat*);
using OldStatAtType = int(int, int, const char*, Stat*, int);
using SeekType = off64_t(int, off64_t, int);
using MapType = void*(void*, size_t, int, int, int, off64_t);

// struct stat64 is struct stat where off_t has 64 bits.
void add_stat_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"stat", StatPath, StatPathType>::function(),
           Wrapper<"stat64", StatPath, StatPathType>::function(),
           Wrapper<"lstat", StatPath, StatPathType>::function(),
           Wrapper<"lstat64", StatPath, StatPathType>::function(),
           Wrapper<"fstat", StatDescriptor, int(int, Stat*)>::function(),
           Wrapper<"fstat64", StatDescriptor, int(int, Stat*)>::function(),
           Wrapper<"__fstat64", StatDescriptor, int(int, Stat*)>::function(),
           Wrapper<"fstatat", StatAt, StatAtType>::function(),
           Wrapper<"fstatat64", StatAt, StatAtType>::function(),
           Wrapper<"statx", StatExtended,
                   int(int, const char*, int, unsigned, struct statx*)>::function(),
           Wrapper<"__xstat", OldStatPath, OldStatPathType>::function(),
           Wrapper<"__xstat64", OldStatPath, OldStatPathType>::function(),
           Wrapper<"__lxstat", OldStatPath, OldStatPathType>::function(),
           Wrapper<"__lxstat64", OldStatPath, OldStatPathType>::function(),
           Wrapper<"__fxstat", OldStatDescriptor, OldStatDescriptorType>::function(),
           Wrapper<"__fxstat64", OldStatDescriptor, OldStatDescriptorType>::function(),
           Wrapper<"__fxstatat", OldStatAt, OldStatAtType>::function(),
           Wrapper<"__fxstatat64", OldStatAt, OldStatAtType>::function(),
       }) {
    functions.push_back(function);
  }
}

// NOLINTEND(readability-function-size)

}  // namespace

void add_file_calls(WrappedFunctions& functions) {
  add_stat_calls(functions);
  for (const WrappedFunction& function : {
           Wrapper<"lseek", Seek, SeekType>::function(),
           Wrapper<"lseek64", Seek, SeekType>::function(),
           Wrapper<"__lseek", Seek, SeekType>::function(),
           Wrapper<"mmap", Map, MapType>::function(),
           Wrapper<"mmap64", Map, MapType>::function(),
           Wrapper<"__mmap", Map, MapType>::function(),
           Wrapper<"fsync", Sync<false>, int(int)>::function(),
           Wrapper<"fdatasync", Sync<true>, int(int)>::function(),
           Wrapper<"rename", Rename, int(const char*, const char*)>::function(),
           Wrapper<"renameat", RenameAt, int(int, const char*, int, const char*)>::function(),
           Wrapper<"renameat2", RenameAt,
                   int(int, const char*, int, const char*, unsigned)>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
