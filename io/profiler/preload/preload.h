#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "io/profiler/preload/preload_layout.h"
#include "io/profiler/wrap/wrapped_functions.h"

namespace stoker {

inline constexpr size_t kPage = 4096;  // of memory, on x86-64

// Whether this process is counted: its log is there. Any thread.
bool preload_counts();
// Makes the log of a process whose environment, or `folder`, names one; once. Nothing where there
// is none: then every function is libc's own. Any thread.
void begin_preload(const char* folder);
// Whether it counts since stoker_preload_attach(), and not since the process began.
bool attached_by_request();
// Counts no more: what is told from now on goes nowhere, and the log is unmapped. One thread.
void end_counting();
// The process ends, or becomes another executable: stamps its log. `false`: it has not (exec has
// failed). Not in the child of a vfork. Any thread.
void stamp_end(bool ends);

// Where the name of an export leads: to its wrapper, or to the function itself where nobody counts.
// Its slot has it from then on. For the exports (exports.cpp), with the slot's number.
extern "C" void* stoker_resolve(size_t export_number);
// How many exports there are, and their names and slots. Defined with them.
extern const size_t kExports;
extern const char* const kExportNames[];
extern "C" void* stoker_slots[];

// What io/profiler/attach does for this program, for any other one, with libc alone: the slots of
// relocations, in all objects that are loaded now, which hold one of the functions as its instance
// has it (WrapperInstance::callee) get its wrapper, and back. Slots that hold anything else stay:
// somebody else's wrapper, or a sanitizer's. Slots that no call has bound yet get it where the
// binding would lead to that function. Under the loader's lock, so one thread at a time; others may
// call through the slots meanwhile. Return how many were changed.
int64_t put_wrappers_in(const WrappedFunction* functions, size_t count);
int64_t put_originals_back(const WrappedFunction* functions, size_t count);

// This process's log, in the folder of the program that was started. No descriptor stays open for
// it, no library but libc's is used, no memory is asked of malloc(). One for the process.

// Maps `common` of this folder, which is absolute. False: it is not there, or of another build.
bool open_preload_folder(const char* folder);
// Makes a new log for this process and maps it; the one that the parent of a fork had stays mapped.
// `heard`: as RecorderSurroundings has it. Null: there is no room for it. One thread.
PreloadLog* make_process_log(void (*heard)(HeardCall, FileRecord*, int64_t, CallTime));
// Unmaps `common`: nobody is counted in that folder any more.
void close_preload_folder();
// Whether somebody is there who will read the log: he holds a lock on `common`.
bool preload_folder_is_in_use();
// For the log of the parent of a fork, and one that is not written any more.
void unmap_process_log(PreloadLog* log);

}  // namespace stoker

// For a process into which the library is loaded while it runs. Counts from now on, into a log in
// `folder`; every function has an instance, whose `callee` is set, so that whoever replaces slots
// may put its `wrapper` there. Returns 0, or -1 where there is no such folder or no room. One
// thread; nothing where it counts already. After end_counting() once more.
extern "C" __attribute__((visibility("default"))) int stoker_preload_attach(const char* folder);
// The functions, and how many: *count. Valid for ever.
extern "C" __attribute__((visibility("default"))) const stoker::WrappedFunction*
stoker_preload_functions(size_t* count);

namespace stoker::raw {

// System calls without libc's functions, which are wrapped. They set errno, as syscall(2) does. Any
// thread, also in the child of a fork.

inline int open(const char* path, int flags, mode_t mode = 0) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
inline int close(int fd) { return static_cast<int>(::syscall(SYS_close, fd)); }
inline ssize_t write_at(int fd, const void* from, size_t bytes, off_t at) {
  return ::syscall(SYS_pwrite64, fd, from, bytes, at);
}
inline ssize_t read_link(int directory, const char* path, char* to, size_t bytes) {
  return ::syscall(SYS_readlinkat, directory, path, to, bytes);
}
inline void* map(size_t bytes, int fd) {
  // The kernel's answer is an address.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_NORESERVE, fd, 0));
}
inline void unmap(void* memory, size_t bytes) { ::syscall(SYS_munmap, memory, bytes); }

inline int64_t now_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace stoker::raw
