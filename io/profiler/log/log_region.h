#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "io/core/system/memory.h"
#include "io/profiler/log/log_format.h"

namespace stoker {

class Unpacker;

// A part of a Darshan log as its bytes were before they were compressed: one stream of zlib
// or bzip2, or several behind each other, for each process may write its own. One thread at a time;
// it does not own the packed bytes. Error(ExitCode::data), which names the part, where it is
// damaged.
class LogRegion {
 public:
  // swapped: numbers are in the other byte order. what: how messages begin, "LOG: POSIX".
  struct Source {
    Bytes bytes;
    DarshanFormat::Compression compression = DarshanFormat::kZlib;
    bool swapped = false;
    std::string what;
  };
  explicit LogRegion(Source source);
  ~LogRegion();
  LogRegion(const LogRegion&) = delete;
  LogRegion& operator=(const LogRegion&) = delete;

  // Fills `to`. False: the part has ended before; Error: it ends in the middle.
  bool read(std::span<uint8_t> to);
  // The same for numbers of 8 bytes.
  bool read(std::span<uint64_t> to);
  // The text up to the next NUL, which is left out. Error: no NUL comes within `most` bytes.
  std::string read_text(size_t most);
  // The same where the length stands before it, in 4 bytes.
  std::string read_counted_text(size_t most);
  // What is left, or as much of it.
  std::string read_rest(size_t most);

  [[noreturn]] void fail(const std::string& why) const;

 private:
  // Unpacks more bytes into the buffer. False: the region has no more.
  bool refill();
  size_t take(std::span<uint8_t> to);

  Source source_;
  std::unique_ptr<Unpacker> stream_;  // that has begun, and not ended
  std::array<uint8_t, 32 << 10> buffer_;
  std::span<const uint8_t> ready_;
};

}  // namespace stoker
