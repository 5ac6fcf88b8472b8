#include <cstdio>

#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"
#include "io/profiler/wrap/wrapper.h"

// Calls on streams that move no bytes.

namespace stoker {
namespace {

struct OpenStream {
  static void tell(FILE* result, CallTime time, const char* path, const char*) {
    if (result != nullptr) recorder().stream_opened(result, path, time);
  }
};

struct OpenStreamOfDescriptor {
  static void tell(FILE* result, CallTime time, int fd, const char*) {
    if (result != nullptr) recorder().stream_opened(result, fd, time);
  }
};

// The stream's descriptor will be closed within libc: from now on it belongs to no file.
void forget_descriptor(FILE* stream) {
  if (stream == nullptr) return;
  const OwnIo own;
  const int error = errno;
  const int fd = fileno_unlocked(stream);
  errno = error;
  if (fd >= 0) recorder().closed_range(static_cast<unsigned>(fd), static_cast<unsigned>(fd));
}

// Without a path it is the same file in another mode.
struct ReopenStream {
  static bool before(const char* path, const char*, FILE* stream) {
    if (path != nullptr) forget_descriptor(stream);
    return path != nullptr;
  }
  static void tell(FILE* result, CallTime time, const char* path, const char*, FILE*, bool other) {
    if (result != nullptr && other) recorder().stream_opened(result, path, time);
  }
};

// Whatever fclose() returns, the stream is gone.
struct CloseStream {
  static bool before(FILE* stream) {
    forget_descriptor(stream);
    return true;
  }
  static void tell(int, CallTime time, FILE* stream, bool) {
    recorder().stream_closed(stream, time);
  }
};

struct FlushStream {
  static void tell(int result, CallTime time, FILE* stream) {
    if (result == 0 && stream != nullptr) recorder().stream_flushed(stream, time);
  }
};

struct DescriptorOfStream {
  static void tell(int result, CallTime time, FILE* stream) {
    if (result >= 0) recorder().stream_asked_for_descriptor(stream, result, time);
  }
};

// fseek, fseeko, fsetpos.
struct SeekStream {
  template <class... Where>
  static void tell(int result, CallTime time, FILE* stream, Where...) {
    if (result == 0) recorder().stream_seeked(stream, ftello(stream), time);
  }
};

struct RewindStream {
  static void tell(CallTime time, FILE* stream) { recorder().stream_seeked(stream, 0, time); }
};

using OpenStreamType = FILE*(const char*, const char*);
using ReopenType = FILE*(const char*, const char*, FILE*);

}  // namespace

void add_stream_calls(WrappedFunctions& functions) {
  for (const WrappedFunction& function : {
           Wrapper<"fopen", OpenStream, OpenStreamType>::function(),
           Wrapper<"fopen64", OpenStream, OpenStreamType>::function(),
           Wrapper<"fdopen", OpenStreamOfDescriptor, FILE*(int, const char*)>::function(),
           Wrapper<"freopen", ReopenStream, ReopenType>::function(),
           Wrapper<"freopen64", ReopenStream, ReopenType>::function(),
           Wrapper<"fclose", CloseStream, int(FILE*)>::function(),
           Wrapper<"fflush", FlushStream, int(FILE*)>::function(),
           Wrapper<"fflush_unlocked", FlushStream, int(FILE*)>::function(),
           Wrapper<"fileno", DescriptorOfStream, int(FILE*)>::function(),
           Wrapper<"fileno_unlocked", DescriptorOfStream, int(FILE*)>::function(),
           Wrapper<"fseek", SeekStream, int(FILE*, long, int)>::function(),
           Wrapper<"fseeko", SeekStream, int(FILE*, off64_t, int)>::function(),
           Wrapper<"fseeko64", SeekStream, int(FILE*, off64_t, int)>::function(),
           Wrapper<"fsetpos", SeekStream, int(FILE*, const fpos_t*)>::function(),
           Wrapper<"fsetpos64", SeekStream, int(FILE*, const fpos64_t*)>::function(),
           Wrapper<"rewind", RewindStream, void(FILE*)>::function(),
       }) {
    functions.push_back(function);
  }
}

}  // namespace stoker
