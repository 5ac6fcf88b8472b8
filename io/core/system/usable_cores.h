#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stoker {

// Cores that this process may use at a time, at least 1: those of the calling thread's affinity
// mask, but not more than its CPU quota is worth, rounded up. Looked up anew by every call. Any
// thread.
//
// After share_cores(i, n): its part of the cores that whoever started it may use, where these are
// more than n; a launcher that has bound each of them to cores of its own has divided them already.
int64_t usable_cores();

// The numbers of the cores to which threads of this process may be pinned: those of the calling
// thread's affinity mask; after share_cores(i, n) the i-th part of them, where the launcher has not
// divided them. Empty: not known (more cores than a cpu_set_t has places). Any thread.
std::vector<int> own_cores();

// Says that one launcher has started `processes` processes on this machine which work at the same
// time, and that this one is number `index` of them. Any thread, before the others ask.
void share_cores(int64_t index, int64_t processes);

// What the process's control groups allow, in cores: the smallest quota of its group and of all
// groups above it that can be seen, by cgroup v2 (cpu.max) and v1 (cpu.cfs_quota_us of
// cpu.cfs_period_us). Absent: no limit, or nothing that can be read. `root` stands before every
// path of /proc and of the mounts; it is for tests. Any thread.
std::optional<double> cpu_quota(const std::string& root = "");

// "model name" of /proc/cpuinfo; "CPU" if it has no such line. Any thread.
std::string cpu_name();

}  // namespace stoker
