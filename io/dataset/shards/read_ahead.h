#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// Stretches of objects that are read before their parts are asked for: each by one large read of
// the tier, by threads of its own, in the order in which they were announced, as far as a limit of
// memory goes. What somebody waits for is read whatever the limit. Any thread; the tier must
// outlive it.
class ReadAhead {
 public:
  // A stretch on its way; its contents are the concern of this class alone.
  struct Stretch;
  using Handle = std::shared_ptr<Stretch>;

  // `threads` read at once; they start with the first stretch. `limit`: in bytes.
  ReadAhead(const Storage& tier, int64_t threads, uint64_t limit);
  // Interrupts the reads that have begun, and waits for them.
  ~ReadAhead();

  // A range that will be asked for in `parts` parts. The key must stay where it is.
  Handle announce(const std::string& key, Range range, int64_t parts);
  // Copies a part, by its place in the object, into `out`; waits until its stretch is read. False:
  // that failed, or the object ended before the part does; reading it alone will say why. Once for
  // each part: with the last one the stretch's memory goes. Interrupted: it did not wait, and the
  // part is done all the same.
  bool take(Stretch& stretch, Range part, Buffer& out);
  // A part that nobody will take.
  void drop(Stretch& stretch);

 private:
  void read_on();
  // With the lock.
  bool may_read() const;
  void part_is_done(Stretch& stretch);

  const Storage& tier_;
  const int64_t count_;
  const uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Handle> waiting_;
  uint64_t held_ = 0;      // bytes of stretches that were begun and are not done
  int64_t announced_ = 0;  // how many were announced, which numbers them
  int64_t urgent_ = -1;    // the highest number that somebody waits for
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace stoker
