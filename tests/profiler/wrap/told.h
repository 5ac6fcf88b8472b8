#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// What the wrappers told an IoRecorder that only writes down: the one of this executable stands
// before the library's. Any thread.
struct Told {
  enum Kind {
    opened,
    named,
    closed,
    duplicated,
    read,
    wrote,
    seeked,
    stated,
    mapped,
    synced,
    renamed,
    stream_opened,
    stream_asked,
    stream_read,
    stream_wrote,
    stream_seeked,
    stream_flushed,
    stream_closed,
    kKinds
  };
  std::array<std::atomic<int64_t>, kKinds> calls{};
  // Writes each call down as a line of text while this is true; a lock is taken then.
  std::atomic<bool> in_words{false};

  static Told& instance();
  void clear();
  // "read 10 at 5", "opened a.txt": those of the calling thread's process, without descriptors.
  std::vector<std::string> lines() const;
  int64_t of(Kind kind) const { return calls[kind]; }
};

}  // namespace stoker
