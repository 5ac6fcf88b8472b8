#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace stoker {

// Bytes that somebody else owns. Whoever takes them says for how long they must live; by default
// for the call.
using Bytes = std::span<const uint8_t>;

// The smallest multiple of `unit` that is not below `value`. `unit` is above 0; the result must fit
// into 64 bits.
constexpr uint64_t rounded_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A byte buffer that is filled again and again. It grows to the largest sample seen and stays, so
// that reading a sample allocates nothing. Owns its memory; moves, no copies. One thread at a time.
class Buffer {
 public:
  // Makes room for `size` bytes and returns where they are. Contents are unspecified afterwards
  // (never zeroed: that would cost as much as the read), and older pointers may be invalid. Throws
  // std::bad_alloc.
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
  // The size() bytes; null before the first resize(). The pointer is valid as long as bytes() is.
  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  // Valid until the next resize() or the end of the buffer.
  Bytes bytes() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// A block of host memory from which a device copies: pinned where the device is a GPU, aligned to
// 64 bytes always. A value with shared ownership; the last copy returns it to the allocator that
// made it, on any thread.
struct HostMemory {
  std::shared_ptr<uint8_t> data;
  size_t bytes = 0;
  bool pinned = false;
};

// Gives memory of at least `bytes` bytes, aligned to at least 64. Any thread. Throws
// std::bad_alloc, or Error(ExitCode::device) where a device cannot pin more.
using HostAllocator = std::function<HostMemory(size_t bytes)>;

// Ordinary memory that is not pinned. Aligned to 64 bytes; from 4096 bytes on to 4096 (as direct
// I/O wants it); from 2 MiB on to 2 MiB, and on huge pages where the kernel has them. Alignment
// rounds the allocation up, HostMemory::bytes is what was asked for.
//
// touch: the memory is zeroed and so faulted in; otherwise the first writer pays for the page
// faults. Any thread. Throws std::bad_alloc.
HostMemory allocate_huge(size_t bytes, bool touch);

// memcpy for what the calling thread does not read again soon (a sample on its way into a batch).
// Blocks of 32 KiB and more are written past the caches with AVX2, from four pages at once, so that
// memory is neither read before it is overwritten nor waited for page by page. Shorter ones, and
// machines without AVX2, take memcpy.
//
// next: what the thread reads after this, `bytes` long; it is fetched into the cache meanwhile, so
// that memory is read and written at the same time. May be null.
//
// The ranges must not overlap. The bytes are visible to whoever synchronises with this thread
// afterwards, as with memcpy. Any thread; never throws.
void stream_copy(uint8_t* to, const uint8_t* from, size_t bytes, const uint8_t* next = nullptr);

}  // namespace stoker
