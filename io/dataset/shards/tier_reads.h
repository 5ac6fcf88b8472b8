#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
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

// Files of a tier, each read as a whole when it is first asked for: the `keep` of them that were
// asked for last stay in memory, beside those that are still held. So who goes through a file's
// samples one after another reads it once. Any thread; the tier must outlive it.
class WholeFiles {
 public:
  WholeFiles(const Storage& tier, size_t keep) : tier_(tier), keep_(keep) {}

  // The bytes of an object, valid and unchanged as long as they are held. One thread reads it,
  // others that ask for it meanwhile wait. IoError as the tier's; the next call tries again.
  std::shared_ptr<const Buffer> get(const std::string& key);

 private:
  struct File {
    std::string key;
    std::mutex reading;  // guards what follows
    bool there = false;
    Buffer bytes;
  };
  // The entry of that key, which is the newest now.
  std::shared_ptr<File> newest(const std::string& key);

  const Storage& tier_;
  const size_t keep_;
  std::mutex mutex_;
  std::list<std::shared_ptr<File>> files_;  // the newest first
};

// An object from its begin to its end, read by the tier in large blocks: for whoever looks at all
// of it once. One thread; the tier must outlive it. IoError as the tier's.
class ObjectStream {
 public:
  ObjectStream(const Storage& tier, const ObjectInfo& object) : tier_(tier), object_(object) {}

  // The place of the next byte.
  uint64_t offset() const { return offset_; }
  uint64_t left() const { return object_.bytes - offset_; }
  // The next `count` bytes, or as many as are left; valid until the next call. They stay where they
  // are until skip().
  Bytes peek(uint64_t count);
  // count: at most left().
  void skip(uint64_t count) { offset_ += count; }

 private:
  const Storage& tier_;
  const ObjectInfo object_;
  Buffer block_;
  uint64_t begin_ = 0;  // of the block, in the object
  uint64_t offset_ = 0;
};

}  // namespace stoker
