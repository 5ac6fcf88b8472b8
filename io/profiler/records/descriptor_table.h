#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "io/profiler/counters/arena.h"
#include "io/profiler/records/record_table.h"

namespace stoker {

// Which file a descriptor is of. Any thread; finding takes no lock. In the arena, which outlives
// it. Descriptors from kMost on are of no file.
class DescriptorTable {
 public:
  static constexpr unsigned kMost = 1u << 20;

  explicit DescriptorTable(Arena& arena) : arena_(arena) {}
  // Null: of none that is known.
  FileRecord* find(int fd) const;
  // Says that `fd` belongs to `file` (null: an unknown one) since a call that ended at `since_ns`.
  // False: no memory is left.
  bool set(int fd, FileRecord* file, int64_t since_ns);
  // The same where nothing is known of it.
  void set_if_unknown(int fd, FileRecord* file);
  // A call that began at `begin_ns` has closed it. Returns the file that it was of. Null, and
  // nothing is changed, where it has been opened again since: another thread may have got the same
  // number before this one could tell.
  FileRecord* close(int fd, int64_t begin_ns);
  // The highest that may be of a file, and one more.
  unsigned end() const;
  void clear();

 private:
  struct Descriptor {
    std::atomic<FileRecord*> file{nullptr};
    int64_t since_ns = 0;  // under the lock
  };
  static constexpr unsigned kPage = 1024;
  struct Page {
    std::array<Descriptor, kPage> descriptors;
  };
  Descriptor* at(int fd) const;
  Descriptor* make(int fd);
  SmallMutex& mutex_of(int fd) { return mutexes_[static_cast<unsigned>(fd) % mutexes_.size()]; }

  Arena& arena_;
  std::array<std::atomic<Page*>, kMost / kPage> pages_{};
  std::array<SmallMutex, 64> mutexes_;
  SmallMutex making_;
};

}  // namespace stoker
