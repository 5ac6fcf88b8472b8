#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace stoker {

using Bytes = std::span<const uint8_t>;

// A byte buffer that is filled again and again: it grows to the largest sample seen and stays, so
// that reading a sample allocates nothing. One thread at a time; contents after resize() are
// unspecified (never zeroed: that would cost as much as the read).
class Buffer {
 public:
  uint8_t* resize(size_t size) {
    if (size > capacity_) {
      data_ = std::make_unique_for_overwrite<uint8_t[]>(size);
      capacity_ = size;
    }
    size_ = size;
    return data_.get();
  }
  // Keeps the first `size` bytes; size must not exceed size().
  void shrink(size_t size) { size_ = size; }
  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  Bytes bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// A block of host memory from which a device copies: pinned where the device is a GPU, aligned to
// 64 bytes always. Owned by whoever holds it; freed by the allocator that made it.
struct HostMemory {
  std::shared_ptr<uint8_t> data;
  size_t bytes = 0;
  bool pinned = false;
};

}  // namespace stoker
