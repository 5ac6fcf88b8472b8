#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/core/system/file.h"

namespace stoker {

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

}  // namespace stoker
