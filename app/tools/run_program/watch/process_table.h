#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/tools/run_program/watch/blocked_reader.h"
#include "app/tools/run_program/watch/samples.h"
#include "app/tools/run_program/watch/task_files.h"
#include "app/tools/run_program/watch/thread_meter.h"

namespace stoker {

// The processes below one, with their threads, and what these did. Each look asks the kernel anew;
// what is known of processes and threads that have ended stays. One thread.
class ProcessTable {
 public:
  // root: the program. began_s: now, since boot; all times are seconds since then.
  ProcessTable(pid_t root, double began_s);
  // Looks at all threads. now_s: since the begin. with_processes: looks for new processes as well,
  // and at what costs more.
  void look(double now_s, bool with_processes);
  // Processor time of all of them so far.
  double cpu_s() const { return cpu_s_; }
  // One of them had a GPU's device open when it was looked for.
  bool has_gpu() const { return has_gpu_; }
  SampleCourse& course() { return course_; }
  // How many processes and threads are alive.
  size_t alive() const { return live_.size(); }
  // Moves all that was found into `samples`. Call it last.
  void finish(ProgramSamples& samples);

 private:
  struct LiveThread {
    size_t index;  // in threads_
    ThreadMeter meter;
    FileDescriptor schedule;  // kept open, as long as there are few
    Blocked blocked;
    bool seen = true;
    bool runs = true;
    bool may_have_started = true;  // a process, since somebody looked for its children
  };
  struct LiveProcess {
    size_t index;  // in processes_
    uint64_t descriptions = 0;
    uint64_t library_kib = 0;  // of shared libraries
    std::map<pid_t, LiveThread> threads;
  };

  void add_process(pid_t pid, pid_t parent);
  // The processes that its threads have started.
  void find_children(pid_t pid, LiveProcess& process);
  // False: it has ended.
  bool look_at(pid_t pid, LiveProcess& process, double now_s, bool thoroughly);
  void look_at_thread(pid_t pid, pid_t tid, LiveThread& thread, double now_s);
  LiveThread& thread_of(LiveProcess& process, pid_t pid, pid_t tid, double now_s);
  void end_thread(LiveThread& thread);
  // Whether it still begins: it loads one library after the other.
  void look_at_libraries(pid_t pid, LiveProcess& process);
  // The words of its command, its device's bytes, its cores, whether it has a GPU.
  void describe(pid_t pid, LiveProcess& process);
  void count_blocked(pid_t pid, const Blocked& blocked, double seconds);

  pid_t root_;
  double began_s_;
  double now_s_ = 0;
  double cpu_s_ = 0;
  size_t kept_open_ = 0;
  bool has_gpu_ = false;
  TaskFiles files_;
  BlockedReader reader_{files_};
  SampleCourse course_{400, 0.1};
  std::map<pid_t, LiveProcess> live_;
  std::vector<ProcessSamples> processes_;
  std::vector<ThreadSamples> threads_;
  std::map<std::string, BlockedOn> blocked_;   // by kind and path
  std::map<std::string, std::string> mounts_;  // by folder
  std::vector<std::string> mapped_;
  double maps_read_s_ = -1;
};

}  // namespace stoker
