#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "io/core/system/file.h"

namespace stoker {

// What an emulated device knows of the operations it was given. Times are nanoseconds of the
// monotonic clock, which is the same for all processes of a machine. Only times and counts: a
// process that dies while writing them leaves nothing that the next operation cannot go on from.
// The layout is shared between processes; change `magic` with it.
struct TierState {
  uint64_t magic = 0;
  uint64_t size = 0;
  pthread_mutex_t mutex = {};
  int64_t slots_end = 0;    // when its slots have done all they were given
  int64_t pipe_end = 0;     // the same of its transfers
  uint64_t operations = 0;  // drawn so far
  uint64_t object = 0;      // the last transfer's, hashed
  uint64_t object_end = 0;  // where it ended
  uint32_t writing = 0;     // its direction
  uint32_t unused = 0;      // the layout has no holes
  int64_t slots_busy = 0;   // sum of what the operations took of the slots
  int64_t pipe_busy = 0;    // and what they took of the pipe
  uint64_t bytes_read = 0;  // of all processes
  uint64_t bytes_written = 0;
  // Processes that have a share, and how many shares each; a pid of 0: a free place. Beyond the
  // places nobody is counted.
  struct User {
    int32_t pid = 0;
    int32_t shares = 0;
  };
  std::array<User, 64> users = {};
  int64_t processes = 0;  // places that are taken
};

// Owns the state of one device, or a share in it. Any thread; any number of processes. The lock is
// robust: where a process dies while it has it, the next one goes on with the state as it is, which
// is at worst one operation wrong.
class TierShare {
 public:
  // A state of this object alone.
  TierShare();
  // One state for all processes of this user that give the same identity: a small file in
  // `directory`. The last process to leave removes it; one that is killed leaves it, and the next
  // process, of any identity, removes it. Where such a file is not possible, the state is of this
  // object alone, and remark() says why. IoError only where a lock cannot be set up.
  explicit TierShare(const std::string& identity, const std::string& directory = "/dev/shm");
  ~TierShare();
  TierShare(const TierShare&) = delete;
  TierShare& operator=(const TierShare&) = delete;

  // Why the state is not shared as it was to be, for the user; empty where all is well.
  const std::string& remark() const { return remark_; }
  // The file of a shared state; empty: it is of this object alone.
  const std::string& path() const { return path_; }

  // How many living processes have a share in the state now, this one included.
  int64_t processes();

  // For std::lock_guard: no other thread or process has the state meanwhile. Hold it for some
  // arithmetic only: every operation of every process on this device waits for it. IoError where
  // the lock is broken.
  void lock();
  void unlock() { pthread_mutex_unlock(&state_->mutex); }
  // While it is locked.
  TierState& state() { return *state_; }

 private:
  // False: what is there cannot be shared.
  bool join();
  // Adds to the shares that this process has; 0: forgets those of processes that died.
  void count(int32_t shares);

  std::unique_ptr<TierState> own_;
  TierState* state_ = nullptr;
  std::string path_;
  std::string remark_;
  FileDescriptor file_;
  pid_t process_ = 0;  // a forked child must not take the file away
};

}  // namespace stoker
