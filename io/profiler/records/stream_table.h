#pragma once

#include <array>
#include <cstdint>
#include <cstdio>

#include "io/profiler/counters/arena.h"
#include "io/profiler/records/record_table.h"

namespace stoker {

// Which file a stream is of. Any thread; a lock for each of 64 parts. In the arena, which outlives
// it.
class StreamTable {
 public:
  explicit StreamTable(Arena& arena) : arena_(arena) {}
  // Null: its file is not known.
  FileRecord* find(const FILE* stream);
  // Says that `stream` belongs to `file` (null: an unknown one), on the descriptor `fd`, since a
  // call that ended at `since_ns`. False: no memory is left.
  bool set(const FILE* stream, FileRecord* file, int fd, int64_t since_ns);
  struct Closed {
    FileRecord* file = nullptr;
    int fd = -1;
  };
  // A call that began at `begin_ns` has closed it. No file, and nothing is changed, where its
  // memory is a new stream since.
  Closed close(const FILE* stream, int64_t begin_ns);
  void clear();
  // Calls look(stream, file, fd) with each that is known, without a lock: for the child of a fork,
  // which has no other threads.
  template <class Look>
  void each(const Look& look) const {
    for (const Part& part : parts_) {
      for (const Stream* at = part.first; at != nullptr; at = at->next) {
        if (at->stream != nullptr) look(at->stream, at->file, at->fd);
      }
    }
  }

 private:
  struct Stream {
    const FILE* stream = nullptr;  // null: the entry is free
    FileRecord* file = nullptr;
    int fd = -1;
    int64_t since_ns = 0;
    Stream* next = nullptr;
  };
  struct alignas(64) Part {
    SmallMutex mutex;
    Stream* first = nullptr;
    Stream* find(const FILE* stream);
  };
  Part& part_of(const FILE* stream);

  Arena& arena_;
  std::array<Part, 64> parts_;
};

}  // namespace stoker
