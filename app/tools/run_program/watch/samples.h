#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// What a thread of a watched program does, or waits for, at one moment.
enum class Doing {
  on_core,      // runs
  for_core,     // could run and has no core: others hold them, or a cgroup's limit is used up
  in_file,      // blocked in a call on a file: read, open, stat, fsync, ...
  in_fault,     // blocked in a fault of a mapped page that comes from a file
  asleep,       // in sleep(): what stands for computing in many benchmarks
  on_pipe,      // a pipe or a local socket: queues between processes
  on_lock,      // a futex: locks, queues and joins between threads, semaphores between processes
  on_poll,      // poll() or epoll_wait() on something else
  on_socket,    // a socket of the network
  on_children,  // until a process ends
  on_gpu,       // a GPU's driver
  other         // all else
};
inline constexpr std::array<const char*, 12> kDoingNames{
    "on_core", "for_core", "in_file",   "in_fault",    "asleep", "on_pipe",
    "on_lock", "on_poll",  "on_socket", "on_children", "on_gpu", "other"};
inline constexpr size_t kDoings = kDoingNames.size();

// Seconds of a thread by what it did. A value.
struct DoingSeconds {
  std::array<double, kDoings> seconds{};

  double& operator[](Doing doing) { return seconds[static_cast<size_t>(doing)]; }
  double operator[](Doing doing) const { return seconds[static_cast<size_t>(doing)]; }
  DoingSeconds& operator+=(const DoingSeconds& other);
  // Of all that it did.
  double sum() const;
};

// One thread, from the first look at it to the last. Times are seconds since the watch began.
struct ThreadSamples {
  pid_t tid = 0;
  size_t process = 0;  // its place in ProgramSamples::processes
  std::string name;    // as the kernel has it, at most 15 characters
  double begin_s = 0;
  double end_s = 0;
  DoingSeconds did;
  uint64_t major_faults = 0;

  // It bears the number of its process.
  bool main = false;
};

// One process below the watched program. Times as above.
struct ProcessSamples {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;                  // of its main thread
  std::vector<std::string> command;  // its words; the last that were seen, for exec changes them
  double begin_s = 0;
  double end_s = 0;
  double loaded_s = 0;        // until then it loaded shared libraries, one after the other
  uint64_t device_bytes = 0;  // that were fetched from block devices for it
  int64_t cores = 0;          // that it was allowed to use; 0: not known
};

// A piece of the watched time. Threads that were not there have no entry.
struct SampleWindow {
  // A thread's place in ProgramSamples::threads, and what it did.
  struct Share {
    size_t thread = 0;
    DoingSeconds did;
  };
  double end_s = 0;            // it begins where the one before ends
  std::vector<Share> threads;  // in their order
  // Means over the window; absent: not known.
  std::optional<double> disk_busy;    // share of the time of the busiest block device
  std::optional<double> gpu_busy;     // of the busiest GPU that the program has open
  std::optional<double> other_cores;  // that everybody else kept busy
};

// A file or a kind of waiting with the time that threads were seen blocked on it.
struct BlockedOn {
  std::string path;   // of the file, or "HOST:PORT" of a socket's other end
  std::string mount;  // "type source at place" of the file system; empty for sockets
  Doing doing = Doing::in_file;
  double seconds = 0;  // summed over threads
};

// What was seen of a program while it ran. A value.
struct ProgramSamples {
  std::vector<ProcessSamples> processes;  // the first is the program that was started
  std::vector<ThreadSamples> threads;
  std::vector<SampleWindow> windows;
  std::vector<BlockedOn> blocked;   // most time first
  std::vector<std::string> mapped;  // files of data that were mapped where threads waited for pages
  double seconds = 0;               // that were watched
  double usable_cores = 1;          // that the program was allowed to use
  std::optional<double> quota_cores;  // of a cgroup; absent: no limit, or not known
  double throttled_s = 0;             // that the cgroup's limit stopped it
  uint64_t looks = 0;
  double own_s = 0;  // processor time of the watching itself
  // Where there is NVML and the program has a GPU open.
  std::optional<double> gpu_busy;
  std::vector<std::string> disks;  // names, of which windows have the busiest
};

// Adds one to the other: shares of threads by thread, means weighted by length. `later` follows
// directly; begin_s is where `window` begins.
void merge_windows(SampleWindow& window, double begin_s, const SampleWindow& later);

// The course of a program in a bounded number of windows: when there are too many, neighbours are
// merged and new ones are twice as long. One thread at a time.
class SampleCourse {
 public:
  // most: of windows, at least 2. first_s: how long the first ones are.
  SampleCourse(size_t most, double first_s) : most_(most), length_s_(first_s) {}
  // What a thread did since the look before.
  void add(size_t thread, const DoingSeconds& did);
  // The end of a look, at which the machine was as `machine` says (its threads are not used).
  void close(double now_s, const SampleWindow& machine);
  // All windows, the open one included. Call it last.
  std::vector<SampleWindow> finish();

 private:
  void keep();

  size_t most_;
  double length_s_;
  double begin_s_ = 0;  // of the open window
  SampleWindow open_;
  std::vector<SampleWindow> windows_;
};

}  // namespace stoker
