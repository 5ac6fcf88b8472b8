#include "io/profiler/preload/preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "io/profiler/wrap/counting.h"
#include "io/profiler/wrap/wrapped_functions.h"

// The library as a whole: when it begins to count, what becomes of a fork, and what an exported
// name leads to. Its order:
// 1. A name is called. Its slot is empty, so it asks stoker_resolve().
// 2. That makes the log, if the environment names a folder, and turns counting on. Whoever calls a
//    wrapped function meanwhile, be it malloc() within dlsym(), gets libc's own.
// 3. It finds libc's function, gives it to the wrapper, and the slot gets the wrapper.

namespace stoker {

constinit std::atomic<bool> counting{false};
constinit std::atomic<uint32_t> counting_period{0};
constinit std::atomic<pid_t> counting_process{0};

namespace {

constinit PreloadLog* g_log = nullptr;
constinit WrappedFunctions g_functions;
constinit std::atomic<bool> g_begun{false};
constinit bool g_attached = false;  // while it ran, by another process
constinit SmallMutex g_beginning;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool in_begin = false;

// A recorder without sessions. All of it is zero at the begin, as it must be, and nobody ends it.
alignas(IoRecorder) constinit char g_recorder[sizeof(IoRecorder)] = {};

// --- threads

struct OwnThread {
  ThreadReads* reads = nullptr;
  int64_t blocks = 0;   // that it had read from devices when it was last asked
  bool none = false;    // there was no memory
  uint32_t period = 0;  // of counting; in another one, the rest means nothing
};
[[gnu::tls_model("initial-exec")]] constinit thread_local OwnThread own_thread;

int64_t blocks_read() {
  rusage use{};
  return ::getrusage(RUSAGE_THREAD, &use) == 0 ? use.ru_inblock : 0;
}

ThreadReads* make_thread_reads() {
  PreloadLog* const log = __atomic_load_n(&g_log, __ATOMIC_ACQUIRE);
  if (log == nullptr) return nullptr;  // counting ends
  ThreadReads* const reads = log->tables.arena.make<ThreadReads>();
  if (reads == nullptr) {
    own_thread.none = true;
    return nullptr;
  }
  ThreadReads* first = log->threads.load(std::memory_order_relaxed);
  do {
    reads->next = first;
  } while (!log->threads.compare_exchange_weak(first, reads, std::memory_order_release,
                                               std::memory_order_relaxed));
  own_thread.blocks = blocks_read();
  return own_thread.reads = reads;
}

// Longer than 20 us and what copying takes at 2 GB/s: it has waited for something.
bool was_slow(int64_t ns, int64_t bytes) { return ns > 20'000 + bytes / 2; }

void add_cold_bytes(FileRecord& file) {
  constexpr int64_t kBlock = 512;
  const int64_t blocks = blocks_read();
  const int64_t came = blocks - own_thread.blocks;
  own_thread.blocks = blocks;
  if (came > 0) file.cold_bytes.fetch_add(came * kBlock, std::memory_order_relaxed);
}

void hear(HeardCall kind, FileRecord* file, int64_t bytes, CallTime time) {
  const uint32_t period = counting_period.load(std::memory_order_relaxed);
  if (own_thread.period != period) [[unlikely]]
    own_thread = {.period = period};
  ThreadReads* reads = own_thread.reads;
  if (reads == nullptr) {
    reads = own_thread.none ? nullptr : make_thread_reads();
    if (reads == nullptr) return;
  }
  if (kind != HeardCall::read || file == nullptr) return;
  const int64_t ns = time.end_ns - time.begin_ns;
  if (was_slow(ns, bytes)) {
    add_cold_bytes(*file);
    return;
  }
  // Only its own thread adds to it.
  reads->copied_ns.store(reads->copied_ns.load(std::memory_order_relaxed) + ns,
                         std::memory_order_relaxed);
}

// --- what is open at the begin

struct Entry {  // of a folder, as the kernel has it
  uint64_t inode;
  int64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

void name_descriptor(int folder, const char* number, RecorderTables& tables) {
  if (*number < '0' || *number > '9') return;
  const int fd = std::atoi(number);
  char path[PATH_MAX];
  const ssize_t length = raw::read_link(folder, number, path, sizeof path);
  if (length <= 0 || fd == folder) return;
  const std::string_view name(path, static_cast<size_t>(length));
  if (name[0] != '/' || name.ends_with(" (deleted)")) return;  // a socket, a pipe
  if (FileRecord* const file = tables.file_named(name)) tables.descriptors.set_if_unknown(fd, file);
}

// From the kernel: this executable did not open them.
void name_open_descriptors(RecorderTables& tables) {
  const int folder = raw::open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  if (folder < 0) return;
  alignas(Entry) char buffer[4096];
  while (true) {
    const long bytes = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (bytes <= 0) break;
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const Entry*>(buffer + at);
      name_descriptor(folder, entry->name, tables);
      at += entry->bytes;
    }
  }
  raw::close(folder);
}

// In the child of a fork, from the parent's tables. (Its locks may be held, and stay so.)
void take_over(const RecorderTables& parents, RecorderTables& tables) {
  for (unsigned fd = 0; fd < parents.descriptors.end(); ++fd) {
    const FileRecord* const file = parents.descriptors.find(static_cast<int>(fd));
    if (file == nullptr) continue;
    FileRecord* const same = tables.file_named(file->name);
    if (same != nullptr) tables.descriptors.set_if_unknown(static_cast<int>(fd), same);
  }
  parents.streams.each([&](const FILE* stream, const FileRecord* file, int fd) {
    if (file == nullptr) return;
    if (FileRecord* const same = tables.file_named(file->name))
      tables.streams.set(stream, same, fd, 0);
  });
}

void use_log(PreloadLog* log) {
  g_log = log;
  counting_period.fetch_add(1, std::memory_order_relaxed);
  IoRecorder::instance().use(&log->tables, !g_attached);
  counting_process = log->pid;
  counting = true;
}

void in_child() {
  PreloadLog* const parents = g_log;
  if (parents == nullptr) return;
  const int error = errno;
  counting = false;
  IoRecorder::instance().use(nullptr, true);
  IoRecorder::instance().forget_threads();
  g_log = nullptr;
  if (PreloadLog* const log = make_process_log(hear)) {
    log->tables.add_standard_streams();
    take_over(parents->tables, log->tables);
    use_log(log);
  }
  unmap_process_log(parents);
  errno = error;
}

void add_functions() {
  add_descriptor_calls(g_functions);
  add_transfer_calls(g_functions);
  add_file_calls(g_functions);
  add_stream_calls(g_functions);
  add_stream_transfer_calls(g_functions);
  add_formatted_calls(g_functions);
}

void begin(const char* folder) {
  if (folder == nullptr || !open_preload_folder(folder)) return;
  PreloadLog* const log = make_process_log(hear);
  if (log == nullptr) return;
  if (g_functions.all().empty()) {
    add_functions();
    ::pthread_atfork(nullptr, nullptr, in_child);
  }
  log->tables.add_standard_streams();
  name_open_descriptors(log->tables);
  use_log(log);
}

// For names that this libc does not have: nobody can be linked with them.
long no_such_function() {
  errno = ENOSYS;
  return -1;
}

const WrappedFunction* function_named(const char* name) {
  for (const WrappedFunction& function : g_functions.all()) {
    if (std::strcmp(function.name, name) == 0) return &function;
  }
  return nullptr;
}

void give_original(const WrappedFunction& function, void* original) {
  WrapperInstance& instance = function.instances[0];
  instance.original.store(original, std::memory_order_relaxed);
  instance.callee.store(original, std::memory_order_release);
}

[[gnu::constructor]] void at_start() { begin_preload(std::getenv(kPreloadFolder)); }
[[gnu::destructor]] void at_end() { stamp_end(true); }

}  // namespace

IoRecorder& IoRecorder::instance() { return reinterpret_cast<IoRecorder&>(g_recorder); }

void* function_below(const char* name) {
  const int error = errno;
  void* const function = ::dlsym(RTLD_NEXT, name);
  if (function == nullptr) ::dlerror();  // or the program would read of it
  errno = error;
  return function;
}

bool preload_counts() { return g_log != nullptr; }

void begin_preload(const char* folder) {
  if (g_begun.load(std::memory_order_acquire) || in_begin) return;
  in_begin = true;
  const int error = errno;
  {
    const std::lock_guard lock(g_beginning);
    if (!g_begun.load(std::memory_order_relaxed)) begin(folder);
    g_begun.store(true, std::memory_order_release);
  }
  errno = error;
  in_begin = false;
}

void stamp_end(bool ends) {
  PreloadLog* const log = g_log;
  if (log == nullptr || ::getpid() != log->pid) return;
  log->end_ns.store(ends ? raw::now_ns() : 0, std::memory_order_relaxed);
}

bool attached_by_request() { return g_attached; }

void end_counting() {
  PreloadLog* const log = g_log;
  if (log == nullptr) return;
  stamp_end(true);
  counting = false;
  IoRecorder::instance().use(nullptr, true);
  // Calls that are being counted take some microseconds. Where a thread is held up in one for long,
  // the memory stays.
  constexpr int kTries = 200;
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < kTries && !IoRecorder::instance().nobody_inside(); ++i) {
    ::nanosleep(&kPause, nullptr);
  }
  const bool nobody_inside = IoRecorder::instance().nobody_inside();
  __atomic_store_n(&g_log, nullptr, __ATOMIC_RELEASE);
  g_attached = false;
  if (!nobody_inside) return;
  unmap_process_log(log);
  close_preload_folder();
}

extern "C" void* stoker_resolve(size_t export_number) {
  const char* const name = kExportNames[export_number];
  const bool early = in_begin;
  if (!early) begin_preload(std::getenv(kPreloadFolder));
  void* target = function_below(name);
  if (target == nullptr) target = reinterpret_cast<void*>(&no_such_function);
  if (early) return target;
  if (const WrappedFunction* const function = function_named(name)) {
    give_original(*function, target);
    target = function->instances[0].wrapper;
  }
  __atomic_store_n(&stoker_slots[export_number], target, __ATOMIC_RELEASE);
  return target;
}

}  // namespace stoker

int stoker_preload_attach(const char* folder) {
  using namespace stoker;
  if (preload_counts()) return 0;
  g_begun = false;  // by an environment without a folder, or before an end
  g_attached = true;
  begin_preload(folder);
  if (!preload_counts()) {
    g_attached = false;
    return -1;
  }
  for (const WrappedFunction& function : g_functions.all()) {
    void* const original = function_below(function.name);
    if (original != nullptr) give_original(function, original);
  }
  return 0;
}

const stoker::WrappedFunction* stoker_preload_functions(size_t* count) {
  const auto all = stoker::g_functions.all();
  *count = all.size();
  return all.data();
}

void stoker_preload_request(void* block, size_t bytes) {
  using stoker::PreloadRequest;
  auto& request = *static_cast<PreloadRequest*>(block);
  if (bytes != sizeof request) return;
  const int error = errno;
  size_t count = 0;
  const stoker::WrappedFunction* const functions = stoker_preload_functions(&count);
  if (request.what == PreloadRequest::kAttach) {
    // Who asked before was killed.
    if (stoker::attached_by_request() && !stoker::preload_folder_is_in_use())
      stoker::end_counting();
    if (stoker::preload_counts()) {
      request.result = PreloadRequest::kCounted;
    } else if (stoker_preload_attach(request.folder) != 0) {
      request.result = PreloadRequest::kNoRoom;
    } else {
      const auto* const all = stoker_preload_functions(&count);
      request.slots = stoker::put_wrappers_in(all, count);
      request.result = PreloadRequest::kDone;
    }
  } else {
    // A library that was preloaded has no slots of others, and goes on counting.
    request.slots = stoker::put_originals_back(functions, count);
    if (stoker::attached_by_request()) stoker::end_counting();
    request.result = PreloadRequest::kDone;
  }
  errno = error;
}
