#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/storage/file_tree.h"

namespace stoker {

// A file that somebody else wrote, for reading at any place. What is asked of it has to lie within
// its size, so that a reader need not trust an offset that the file itself names. Any thread.
class InputFile {
 public:
  // IoError where it cannot be opened.
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Error(ExitCode::storage) where the file has fewer bytes. The next two ask it first.
  void need(uint64_t offset, uint64_t bytes) const;
  // All of `out`; IoError.
  void read(uint64_t offset, std::span<uint8_t> out) const;
  std::string text(uint64_t offset, uint64_t bytes) const;
  // Error(ExitCode::storage): "<path>: <what>".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  const std::string path_;
  const FileTree tree_;
  const TreeFile file_;
  const uint64_t size_;
};

// Unsigned numbers in the order of bytes that all these formats have, the lowest first. The bytes
// of `in` must be there. Any thread.
uint64_t little_endian(const uint8_t* in, size_t bytes);
void append_little_endian(std::string& out, uint64_t value, size_t bytes);

}  // namespace stoker
