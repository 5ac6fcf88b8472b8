#include "app/run/cpu_watch.h"

#include <numeric>

#include "io/metrics/process_stats.h"
#include "io/metrics/system_stats.h"

namespace stoker {

std::optional<CpuUse> CpuWatch::now() {
  const std::optional<double> process = read_process_stats().cpu_seconds;
  const std::optional<CpuSeconds> cpu = read_system_stats({}).cpu;
  if (!process || !cpu) return std::nullopt;
  const double all = std::accumulate(cpu->begin(), cpu->end(), 0.0);
  double idle = 0;
  for (size_t i = 0; i < kCpuModes.size(); ++i) {
    const std::string_view mode = kCpuModes[i];
    if (mode == "idle" || mode == "iowait" || mode == "steal") idle += (*cpu)[i];
  }
  return CpuUse{*process, all - idle, all};
}

std::optional<CpuUse> CpuWatch::use() const {
  const std::optional<CpuUse> end = now();
  if (!begin_ || !end) return std::nullopt;
  return CpuUse{end->process_s - begin_->process_s, end->machine_busy_s - begin_->machine_busy_s,
                end->machine_s - begin_->machine_s};
}

}  // namespace stoker
