#include "io/profiler/wrap/counting.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <memory>
#include <mutex>

#include "io/profiler/io_recorder.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

constinit std::atomic<bool> counting{false};
constinit std::atomic<uint32_t> counting_period{0};
constinit std::atomic<pid_t> counting_process{0};

namespace {

// What another thread opens meanwhile is told by its own call.
void name_open_descriptors() {
  const OwnIo own;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (!folder) return;
  std::array<char, PATH_MAX> path{};
  while (const dirent* const entry = readdir(folder.get())) {
    int fd = -1;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr != end || fd == dirfd(folder.get())) continue;
    const ssize_t length =
        readlinkat(dirfd(folder.get()), entry->d_name, path.data(), path.size() - 1);
    if (length <= 0 || path[0] != '/') continue;  // a socket, a pipe
    path[static_cast<size_t>(length)] = '\0';
    recorder().named(fd, path.data());
  }
}

}  // namespace

void count_calls(bool on) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { counting = false; }); });
  if (on == counting) return;
  if (!on) {
    counting = false;
    return;
  }
  ++counting_period;
  counting_process = getpid();
  counting = true;
  name_open_descriptors();
}

// No wrapper of ours has a name that symbol tables know.
void* function_below(const char* name) { return dlsym(RTLD_DEFAULT, name); }

std::span<const WrappedFunction> wrapped_functions() {
  static const WrappedFunctions all = [] {
    WrappedFunctions functions;
    add_descriptor_calls(functions);
    add_transfer_calls(functions);
    add_file_calls(functions);
    add_stream_calls(functions);
    add_stream_transfer_calls(functions);
    add_formatted_calls(functions);
    add_uring_calls(functions);
    add_aio_calls(functions);
    return functions;
  }();
  return all.all();
}

}  // namespace stoker
