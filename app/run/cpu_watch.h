#pragma once

#include <optional>

namespace stoker {

// What the processors did during the training loop, in seconds of one core.
struct CpuUse {
  double process_s = 0;       // this process, all threads
  double machine_busy_s = 0;  // all processes of the machine, also those outside a container
  double machine_s = 0;       // all cores of the machine
};

// Watches from its construction on.
class CpuWatch {
 public:
  CpuWatch() : begin_(now()) {}
  // Absent: this system does not say.
  std::optional<CpuUse> use() const;

 private:
  static std::optional<CpuUse> now();
  const std::optional<CpuUse> begin_;
};

}  // namespace stoker
