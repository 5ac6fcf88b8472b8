#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/tools/run_program/watch/samples.h"
#include "app/tools/run_program/watch/task_files.h"

namespace stoker {

// What a thread is blocked on. A value.
struct Blocked {
  Doing doing = Doing::other;
  std::string path;  // of a file, or "HOST:PORT" of a socket's other end; empty: not known
};

// By the name of the kernel's function in which a thread waits (wchan), where the kernel does not
// tell the call. state: its letter in /proc. A pure function.
Doing doing_by_place(char state, std::string_view place);
// By what a link in /proc/PID/fd names, of all but sockets. A pure function.
Doing doing_by_link(std::string_view link);
// "HOST:PORT" of the other end of a socket with this inode, by the text of /proc/net/tcp or tcp6.
// Empty: it is none of these, or listens. A pure function.
std::string other_end(std::string_view table, std::string_view inode);

// Finds out what blocked threads of other processes wait for, from /proc and their memory. Needs no
// more rights than ptrace does; what may not be read is told by the place in the kernel alone. One
// thread.
class BlockedReader {
 public:
  explicit BlockedReader(TaskFiles& files) : files_(files) {}
  // state: the thread's letter in /proc, of one that does not run.
  Blocked read(pid_t pid, pid_t tid, char state);
  // The file system of a file that a process has: "type source at place". Empty: not known.
  std::string mount_of_path(pid_t pid, const std::string& path);
  // Files of data that a process has mapped: regular ones of at least 1 MiB without code in them.
  std::vector<std::string> mapped_files(pid_t pid);

 private:
  Blocked in_call(pid_t pid, pid_t tid, char state, const TaskCall& call);
  // In a fault, or a call that changes the address space.
  Blocked in_memory(pid_t pid, pid_t tid, char state);
  Blocked on_descriptor(pid_t pid, pid_t tid, uint64_t descriptor);
  Blocked on_socket(pid_t pid, const std::string& inode);
  // directory: the descriptor to which the path is relative, or AT_FDCWD.
  Blocked on_path(pid_t pid, uint64_t address, int directory);
  // Of several descriptors: what is the likeliest to be waited for. forever: without a timeout.
  Blocked on_any(pid_t pid, pid_t tid, const std::vector<uint64_t>& descriptors, bool forever);
  std::vector<uint64_t> polled(pid_t pid, const TaskCall& call);
  std::vector<uint64_t> selected(pid_t pid, const TaskCall& call);
  std::vector<uint64_t> epolled(pid_t pid, const TaskCall& call);
  std::string place_of(pid_t pid, pid_t tid);

  TaskFiles& files_;
  // By inode; the other end, empty for local ones.
  std::unordered_map<std::string, std::string> sockets_;
};

}  // namespace stoker
