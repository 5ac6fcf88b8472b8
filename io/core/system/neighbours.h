#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/core/system/file.h"

namespace stoker {

// Where a process runs, as another one can tell whether it could watch it: "BOOT/NAMESPACE/PID".
std::string place_of(pid_t process);

// A process of this machine that is watched: its end is known at once, however it came. Nothing is
// ever known about a process that runs elsewhere, in another container, or on a kernel without
// pidfd_open. One thread at a time.
class Neighbour {
 public:
  // place: what place_of() said in that process.
  explicit Neighbour(const std::string& place);

  bool ended() const;

 private:
  bool ended_ = false;
  FileDescriptor process_;
};

// Memory that several processes of a machine share, zeroed at first. It is a memfd, so nothing of
// it stays when they are gone, however they end. Pages of it cost memory once they are touched.
// Owns its mapping; moves, no copies. Any thread. Everything throws IoError.
class SharedMemory {
 public:
  // New memory. alone: nobody else will open it.
  explicit SharedMemory(size_t bytes, bool alone = false);
  // That of another process (or of this one), which told its name(). IoError, too, where what is
  // found there is something else, or has fewer bytes.
  SharedMemory(const std::string& name, size_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  // By which others of this user open it, until hide(). Empty: it is of one alone, or not the
  // maker's.
  std::string name() const;
  // All have opened it: nobody else can any more.
  void hide() { file_ = FileDescriptor(); }
  std::span<uint8_t> bytes() const { return bytes_; }

 private:
  SharedMemory() = default;  // what the others begin with, so that they may throw
  void map(int file, size_t bytes);

  FileDescriptor file_;  // of the maker
  std::span<uint8_t> mapped_;
  std::span<uint8_t> bytes_;
};

enum class FileLock { shared, exclusive };

// Takes a lock on the whole of a file, or turns the one that it has into this one. It is of the
// open file description (F_OFD_SETLK): the kernel drops it when the last descriptor of that is
// closed, also where its process was killed, and two that one process has opened are like those of
// two. `file` is open for reading and writing. wait: until it can be had. Returns 0, EAGAIN where
// somebody else has the file, or another errno. Any thread.
int lock_file(const FileDescriptor& file, FileLock lock, bool wait = false);

// Whether what lock_file() returned says that the file system has no locks at all.
bool has_no_locks(int errno_value);

// Marks an open directory as in use until its descriptor is closed, also where the process is
// killed (flock(2), for lock_file() takes no directories). Does nothing where there are no locks.
// Any thread.
void mark_in_use(const FileDescriptor& directory);
// Whether somebody has marked this directory. False also where that cannot be told: on another
// machine's file system, or without permission. Any thread.
bool is_in_use(const std::string& directory);

}  // namespace stoker
