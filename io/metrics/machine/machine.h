#pragma once

#include <span>
#include <string>

#include "io/metrics/machine/process_stats.h"
#include "io/metrics/machine/system_stats.h"

namespace stoker {

// What the kernel counts now: of this process since its start, of the machine since boot. A value.
struct Machine {
  ProcessStats process;
  SystemStats system;
};

// `paths`: whose block devices to report. Any thread; reads about ten files of /proc.
inline Machine read_machine(std::span<const std::string> paths) {
  return {read_process_stats(), read_system_stats(paths)};
}

}  // namespace stoker
