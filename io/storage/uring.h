#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace stoker {

// One thread's queue of io_uring. One thread at a time. Kernels and containers may refuse it, so it
// is asked for, and never needed.
class Uring {
 public:
  // Null where it is not to be had; `why` says the reason.
  static std::unique_ptr<Uring> open(std::string& why);
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // As pwrite(2), by several requests in flight at once: the number of bytes written from the begin
  // on, or -errno where the first piece failed.
  int64_t write(int file, const uint8_t* data, uint64_t bytes, uint64_t offset);

  struct Ring;
  explicit Uring(std::unique_ptr<Ring> ring);  // for open()

 private:
  std::unique_ptr<Ring> ring_;
};

}  // namespace stoker
