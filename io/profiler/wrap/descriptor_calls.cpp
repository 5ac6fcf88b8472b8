#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/types.h>

#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls after which a descriptor is another file, or no file.

namespace stoker {
namespace {

// Whether there is a third argument.
int mode_of(int flags, mode_t mode) {
  const bool there = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return there ? static_cast<int>(mode) : 0;
}

struct Open {
  using Original = int (*)(const char*, int, ...);
  static void tell(int fd, CallTime time, const char* path, int flags, mode_t mode) {
    if (fd >= 0) recorder().opened(fd, AT_FDCWD, path, time, mode_of(flags, mode));
  }
};

struct OpenAt {
  using Original = int (*)(int, const char*, int, ...);
  static void tell(int fd, CallTime time, int directory, const char* path, int flags, mode_t mode) {
    if (fd >= 0) recorder().opened(fd, directory, path, time, mode_of(flags, mode));
  }
};

// Fortified, of two arguments.
struct OpenTwo {
  static void tell(int fd, CallTime time, const char* path, int) {
    if (fd >= 0) recorder().opened(fd, AT_FDCWD, path, time);
  }
};

struct OpenAtTwo {
  static void tell(int fd, CallTime time, int directory, const char* path, int) {
    if (fd >= 0) recorder().opened(fd, directory, path, time);
  }
};

struct Create {
  static void tell(int fd, CallTime time, const char* path, mode_t mode) {
    if (fd >= 0) recorder().opened(fd, AT_FDCWD, path, time, static_cast<int>(mode));
  }
};

// mkstemp and its like, which have written the name into their argument.
struct MakeTemporary {
  template <class... More>
  static void tell(int fd, CallTime time, char* path, More...) {
    if (fd >= 0) recorder().opened(fd, AT_FDCWD, path, time);
  }
};

// A directory is a file as well: it is opened once and closed once.
struct OpenDirectory {
  static void tell(DIR* directory, CallTime time, const char* path) {
    if (directory != nullptr) recorder().opened(dirfd(directory), AT_FDCWD, path, time);
  }
};

// After any error but EBADF the descriptor is gone, too.
void tell_close(int result, CallTime time, int fd) {
  if (result == 0) {
    recorder().closed(fd, time);
  } else if (errno != EBADF && fd >= 0) {
    recorder().closed_range(static_cast<unsigned>(fd), static_cast<unsigned>(fd));
  }
}

struct CloseDirectory {
  static int before(DIR* directory) { return directory == nullptr ? -1 : dirfd(directory); }
  static void tell(int result, CallTime time, DIR*, int fd) { tell_close(result, time, fd); }
};

struct Close {
  static void tell(int result, CallTime time, int fd) { tell_close(result, time, fd); }
};

// Between vfork and exec, children close all that is open and put other files in the place of
// standard streams: these calls look whose descriptors they are about.
struct CloseRange {
  static void tell(int result, CallTime, unsigned first, unsigned last, int flags) {
    const bool closed = (static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0;
    if (result == 0 && closed && in_counting_process()) {
      recorder().closed_range(first, last);
    }
  }
};

struct CloseFrom {
  static void tell(CallTime, int first) {
    if (!in_counting_process()) return;
    recorder().closed_range(first < 0 ? 0 : static_cast<unsigned>(first), ~0U);
  }
};

// dup, dup2, dup3.
struct Duplicate {
  template <class... More>
  static void tell(int result, CallTime time, int from, More...) {
    if (result >= 0 && in_counting_process()) recorder().duplicated(from, result, time);
  }
};

// The third argument may be a pointer, and an int would lose half of it.
struct Control {
  using Original = int (*)(int, int, ...);
  static void tell(int result, CallTime time, int fd, int command, void*) {
    const bool duplicates = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
    if (result >= 0 && duplicates && in_counting_process()) {
      recorder().duplicated(fd, result, time);
    }
  }
};

using OpenType = int(const char*, int, mode_t);
using OpenAtType = int(int, const char*, int, mode_t);
using ControlType = int(int, int, void*);

}  // namespace

void add_descriptor_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"open", Open, OpenType>::function(),
           Wrapper<"open64", Open, OpenType>::function(),
           Wrapper<"__open", Open, OpenType>::function(),
           Wrapper<"__open64", Open, OpenType>::function(),
           Wrapper<"__open_2", OpenTwo, int(const char*, int)>::function(),
           Wrapper<"__open64_2", OpenTwo, int(const char*, int)>::function(),
           Wrapper<"openat", OpenAt, OpenAtType>::function(),
           Wrapper<"openat64", OpenAt, OpenAtType>::function(),
           Wrapper<"__openat_2", OpenAtTwo, int(int, const char*, int)>::function(),
           Wrapper<"__openat64_2", OpenAtTwo, int(int, const char*, int)>::function(),
           Wrapper<"creat", Create, int(const char*, mode_t)>::function(),
           Wrapper<"creat64", Create, int(const char*, mode_t)>::function(),
           Wrapper<"mkstemp", MakeTemporary, int(char*)>::function(),
           Wrapper<"mkstemp64", MakeTemporary, int(char*)>::function(),
           Wrapper<"mkostemp", MakeTemporary, int(char*, int)>::function(),
           Wrapper<"mkostemp64", MakeTemporary, int(char*, int)>::function(),
           Wrapper<"mkstemps", MakeTemporary, int(char*, int)>::function(),
           Wrapper<"mkstemps64", MakeTemporary, int(char*, int)>::function(),
           Wrapper<"mkostemps", MakeTemporary, int(char*, int, int)>::function(),
           Wrapper<"mkostemps64", MakeTemporary, int(char*, int, int)>::function(),
           Wrapper<"opendir", OpenDirectory, DIR*(const char*)>::function(),
           Wrapper<"closedir", CloseDirectory, int(DIR*)>::function(),
           Wrapper<"close", Close, int(int)>::function(),
           Wrapper<"__close", Close, int(int)>::function(),
           Wrapper<"close_range", CloseRange, int(unsigned, unsigned, int)>::function(),
           Wrapper<"closefrom", CloseFrom, void(int)>::function(),
           Wrapper<"dup", Duplicate, int(int)>::function(),
           Wrapper<"dup2", Duplicate, int(int, int)>::function(),
           Wrapper<"__dup2", Duplicate, int(int, int)>::function(),
           Wrapper<"dup3", Duplicate, int(int, int, int)>::function(),
           Wrapper<"fcntl", Control, ControlType>::function(),
           Wrapper<"fcntl64", Control, ControlType>::function(),
           Wrapper<"__fcntl", Control, ControlType>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
