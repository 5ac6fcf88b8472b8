#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// Reads of many files that are in flight at once: each is opened, read and closed by linked
// requests of io_uring, which one thread hands in and reaps. Any thread. Kernels and containers may
// refuse it, so every caller needs another way to do the same.
class UringFiles {
 public:
  // A read on its way.
  class File;
  using Handle = std::shared_ptr<File>;

  // Reads at most `in_flight` files at once. Null if the kernel does not offer what it needs (Linux
  // 5.15).
  static std::unique_ptr<UringFiles> open(unsigned in_flight);
  // Waits until the kernel is done with what has begun; nothing else is read any more.
  ~UringFiles();
  UringFiles(const UringFiles&) = delete;
  UringFiles& operator=(const UringFiles&) = delete;

  // Begins to read a range of a known length. Does not block.
  Handle begin(std::string path, Range range);
  // Waits for it and copies what it gave: all of the range, or all up to the file's end. False:
  // nothing, for whatever reason; an ordinary read will say it. Once. Interrupted.
  bool take(File& file, Buffer& out);

  class Loop;
  explicit UringFiles(std::unique_ptr<Loop> loop);  // for open()

 private:
  std::unique_ptr<Loop> loop_;
};

}  // namespace stoker
