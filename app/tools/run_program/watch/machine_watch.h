#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "app/tools/run_program/watch/samples.h"
#include "io/metrics/machine/nvml.h"
#include "io/metrics/machine/system_stats.h"

namespace stoker {

// Nanoseconds or microseconds for which a cgroup's limit has stopped it, in seconds, by the text of
// its cpu.stat of version 1 or 2. Absent: the text does not say. A pure function.
std::optional<double> throttled_seconds(std::string_view cpu_stat);
// Where the cpu.stat of a process may be, by the text of its /proc/PID/cgroup. A pure function.
std::vector<std::string> cpu_stat_paths(std::string_view cgroup);

// What the machine does while a program runs: block devices, GPUs, everybody else on the cores.
// One thread.
class MachineWatch {
 public:
  MachineWatch();
  // At now_s, with all processor time of the program until now. GPUs are asked where the program
  // has one open. Absent in the first answer: what needs two looks.
  const SampleWindow& look(double now_s, double program_cpu_s, bool has_gpu);
  // The mean of the busiest GPU; absent: none was asked.
  std::optional<double> gpu_busy() const;
  const std::vector<std::string>& disks() const { return names_; }

 private:
  std::optional<double> busiest_disk(double passed_s);
  std::optional<double> busiest_gpu();

  std::vector<BlockDevice> devices_;
  std::vector<std::string> names_;
  Nvml nvml_;
  std::vector<NvmlDevice> gpus_;
  SampleWindow now_;
  std::vector<DiskStats> disks_;
  std::optional<CpuSeconds> cpu_;
  double program_cpu_s_ = 0;
  double last_s_ = 0;
  double gpu_sum_ = 0;
  size_t gpu_looks_ = 0;
};

}  // namespace stoker
