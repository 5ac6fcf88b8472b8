#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace stoker {

// Requests of io_uring that are in flight at once (1 to 4096), and the size of each in bytes.
struct UringShape {
  unsigned in_flight = 8;
  uint64_t piece_bytes = 1ull << 20;
};

// One thread's queue of io_uring. One thread at a time. Kernels and containers may refuse it, so
// every caller needs another way to do the same. When a call returns, the kernel no longer uses the
// caller's memory, whatever failed. Throws std::system_error where completions cannot be waited
// for.
class Uring {
 public:
  // Null where it is not to be had; `why` says the reason.
  static std::unique_ptr<Uring> open(std::string& why, UringShape shape = {});
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Reads into this memory pass by the step in which the kernel looks its pages up, from now on.
  // Once, while nothing is in flight; the memory must outlive the queue. False: the kernel pins no
  // more for this user (RLIMIT_MEMLOCK), and reads are what they were.
  bool register_memory(std::span<uint8_t> memory);
  // All of the bytes, by as many requests as may be in flight, each piece again after a short read:
  // how many there were before the file's end, or -errno where a piece failed. unit: what offsets
  // have to be multiples of (direct I/O).
  int64_t read(int file, uint8_t* data, uint64_t bytes, uint64_t offset, uint64_t unit = 1);
  // As read(), with one request for each that may be in flight: how many bytes were written from
  // the begin on, which may be fewer than `bytes`, or -errno where a piece failed (then any of them
  // may have been written).
  int64_t write(int file, const uint8_t* data, uint64_t bytes, uint64_t offset, uint64_t unit = 1);
  // The kernel took no more requests: do not use this queue again.
  bool broken() const;

  struct Ring;
  explicit Uring(std::unique_ptr<Ring> ring);  // for open()

 private:
  std::unique_ptr<Ring> ring_;
};

}  // namespace stoker
