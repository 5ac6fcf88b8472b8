#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// What a program of somebody else's did on files, as its preloaded counters have it: by process, by
// thread, and by file. Times are seconds since the begin of the program. Values, all of them.
struct ProgramIo {
  // A thread and the calls that it made on files. Wall times; calls of one thread do not overlap.
  struct Thread {
    pid_t tid = 0;
    double read_s = 0, write_s = 0, open_s = 0;  // within calls of that kind
    int64_t reads = 0, writes = 0, opens = 0;
    int64_t bytes_read = 0, bytes_written = 0;
    // Reads and writes of no file: pipes, sockets, terminals.
    double elsewhere_s = 0;
    int64_t elsewhere = 0, elsewhere_bytes = 0;
    // Of reads, those that took longer than 20 us and what copying their bytes at 2 GB/s takes:
    // they have waited for a device, a server, or a lock.
    int64_t slow_reads = 0;
    double slow_s = 0;
    double first_s = 0, last_s = 0;  // when its first call began and its last one ended
  };
  // A process with one executable. One that replaces its executable (exec) is here once for each,
  // with the same pid, in the order of time. Processes that could not be counted are not here.
  struct Process {
    pid_t pid = 0, parent = 0;
    int64_t rank = 0;  // whose records of the log these are; the first process has 0
    double start_s = 0;
    double end_s = 0;        // at the latest what is known: its last call, where it was killed
    bool ended = false;      // it said so itself: it was neither killed nor is it running
    std::string executable;  // a path; empty: the kernel did not say
    std::string command;     // words, with spaces between them
    std::vector<Thread> threads;
  };
  // A file, all processes and both of Darshan's modules taken together.
  struct File {
    std::string path;
    int64_t opens = 0, reads = 0, writes = 0;
    int64_t bytes_read = 0, bytes_written = 0;
    // Within its calls. Those of one process do not overlap; those of several add up.
    double read_s = 0, write_s = 0;
    // Of its slow reads, what came from a device (the kernel's count of input blocks). Reads of
    // mapped memory are not in it. 0 also where the file system does not count (FUSE).
    int64_t cold_bytes = 0;
  };

  int64_t begin_ns = 0;            // since 1970
  int64_t begin_monotonic_ns = 0;  // the same on CLOCK_MONOTONIC
  double seconds = 0;              // until the program had ended
  pid_t pid = 0;                   // of the program itself
  int exit_code = 0;               // 128 + signal where a signal ended it
  std::vector<Process> processes;
  std::vector<File> files;  // the most time first
  // What is missing, as sentences.
  std::vector<std::string> notes;
};

}  // namespace stoker
