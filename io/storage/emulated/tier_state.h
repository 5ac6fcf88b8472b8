#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "io/core/file.h"

namespace stoker {

// What an emulated device knows of the operations it was given, in nanoseconds of the monotonic
// clock, which is one for all processes of a machine. Only times and counts: whoever dies while
// writing them leaves nothing that the next operation cannot go on from.
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
  int64_t pipe_busy = 0;    // and of the transfers
  uint64_t bytes_read = 0;  // of all processes
  uint64_t bytes_written = 0;
};

// Owns, or shares in, the state of one device. Any thread.
class TierShare {
 public:
  // Of this object alone.
  TierShare();
  // One for all, in all processes of this user, who give the same identity: a small file in
  // `directory`, which whoever leaves last takes away. A process that is killed leaves it, and the
  // next one, of any identity, takes it away. Where such a file is not possible: of this object
  // alone, and remark() says why.
  explicit TierShare(const std::string& identity, const std::string& directory = "/dev/shm");
  ~TierShare();
  TierShare(const TierShare&) = delete;
  TierShare& operator=(const TierShare&) = delete;

  const std::string& remark() const { return remark_; }
  const std::string& path() const { return path_; }  // empty: of this object alone

  // The state while nobody else has it.
  class Locked {
   public:
    explicit Locked(TierShare& share);
    ~Locked();
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    TierState* operator->() const { return state_; }
    TierState& operator*() const { return *state_; }

   private:
    TierState* state_;
  };

 private:
  // False: what is there cannot be shared.
  bool join();

  std::unique_ptr<TierState> own_;
  TierState* state_ = nullptr;
  std::string path_;
  std::string remark_;
  FileDescriptor file_;
  pid_t process_ = 0;  // a forked child must not take the file away
};

}  // namespace stoker
