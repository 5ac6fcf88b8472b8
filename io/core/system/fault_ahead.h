#pragma once

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace stoker {

// Faults in fresh memory from its begin on, by a thread of its own, beside those who write to it:
// what they write stays, and a fault that they meet would cost them a stop. The destructor ends it
// where it is. Nothing happens on a kernel before 5.14: there the first writer pays. Each span
// begins at a page; the memory must outlive the object.
class FaultAhead {
 public:
  explicit FaultAhead(std::vector<std::span<uint8_t>> memory);

 private:
  std::jthread thread_;
};

}  // namespace stoker
