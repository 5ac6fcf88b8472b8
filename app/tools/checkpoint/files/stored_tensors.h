#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/saving/layout.h"
#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"

namespace stoker {

// What a file says of the bytes of a tensor: their CRC-32C (a set) or CRC-32 (a zip). A value.
struct TensorSum {
  enum class Kind { crc32c, crc32 };
  Kind kind = Kind::crc32c;
  uint32_t value = 0;
};

// The tensors of a checkpoint of whatever format, for reading. When one is made, its names, types,
// shapes and places have been checked against each other and against the sizes of its files, and
// no tensor's bytes were read. Any thread.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;
  StoredTensors(const StoredTensors&) = delete;
  StoredTensors& operator=(const StoredTensors&) = delete;

  // In the order of the file. No name occurs twice.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  // What it is, in words, for messages: "a checkpoint set", "safetensors".
  const std::string& format() const { return format_; }
  // Names of values that are no tensors, which nobody reads: what torch.save put beside them.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // The bytes of a tensor from `begin` on, as many as `out` has room for, in row-major order. They
  // are not verified. Error(ExitCode::storage) where the file is not what it was; IoError.
  virtual void read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const = 0;
  // Of all bytes of a tensor; empty: the file says nothing.
  virtual std::optional<TensorSum> sum(size_t tensor) const = 0;
  // The path of the file that a tensor is in.
  virtual std::string place(size_t tensor) const = 0;

 protected:
  explicit StoredTensors(std::string format) : format_(std::move(format)) {}
  std::vector<TensorInfo> tensors_;
  std::vector<std::string> left_out_;

 private:
  const std::string format_;
};

// Reads one tensor from its begin to its end, some elements at once, and compares what it has read
// with what the file says of the whole. One thread; the source must outlive it.
class TensorPieces {
 public:
  TensorPieces(const StoredTensors& source, size_t tensor, uint64_t elements_at_once);
  // The bytes that follow, which are valid until the next call. Empty: that was all.
  // Error(ExitCode::storage) where the sum of all of them is another one.
  Bytes next();

 private:
  void check() const;

  const StoredTensors& source_;
  const size_t tensor_;
  const uint64_t most_;
  const std::optional<TensorSum> expected_;
  uint64_t done_ = 0;
  uint32_t sum_ = 0;
  Buffer buffer_;
};

// About 4 MiB of a tensor of four bytes an element.
inline constexpr uint64_t kElementsAtOnce = 1ull << 20;

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
