#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/metrics/machine/process_stats.h"

namespace stoker {

// The machine as its kernel counts it, since boot: all processes, also those outside a container.
// Absent, or not in the list: this kernel does not say.

inline constexpr std::array<const char*, 8> kCpuModes{"user",   "nice", "system",  "idle",
                                                      "iowait", "irq",  "softirq", "steal"};
// The times of all CPUs together, in the order of kCpuModes. iowait may decrease.
using CpuSeconds = std::array<double, kCpuModes.size()>;

// /proc/meminfo. `available`: what could be had without swapping; `cached`: pages of files. Some of
// these wait to be written (`dirty`), others are being written (`writeback`).
struct MemoryBytes {
  std::optional<uint64_t> available;
  std::optional<uint64_t> cached;
  std::optional<uint64_t> dirty;
  std::optional<uint64_t> writeback;
};

// Time since boot in which some tasks, or all that were not idle, waited for a resource
// (/proc/pressure). A value.
inline constexpr std::array<const char*, 3> kPressures{"cpu", "io", "memory"};
struct PressureSeconds {
  std::optional<double> some;
  std::optional<double> full;
};

// One interface. Both counters are of all processes.
struct NetworkBytes {
  std::string device;
  uint64_t received = 0;
  uint64_t sent = 0;
};

// One block device; a partition counts as itself. Whatever its sectors are, these are bytes.
struct DiskStats {
  std::string device;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  double io_seconds = 0;  // with at least one request under way
};

// The machine now. A value.
struct SystemStats {
  // Absent: /proc/stat is hidden.
  std::optional<CpuSeconds> cpu;
  MemoryBytes memory;
  std::array<PressureSeconds, kPressures.size()> pressures;
  std::vector<NetworkBytes> networks;  // without the loopback
  // The block devices that were asked for.
  std::vector<DiskStats> disks;
};

// A device by the kernel's numbers. A value.
struct BlockDevice {
  uint64_t major = 0;
  uint64_t minor = 0;
  bool operator==(const BlockDevice&) const = default;
};
// The block devices that hold these paths, each once. A path that does not exist, or lies on a file
// system that has no block device of its own (overlay, tmpfs, NFS, Btrfs), adds none. Looks at the
// paths, so that it waits where their file system does not answer: once, and not while a run lasts.
std::vector<BlockDevice> block_devices_under(std::span<const std::string> paths);

// `devices`: which block devices to report (a partition as itself). Any thread.
SystemStats read_system_stats(std::span<const BlockDevice> devices);

// Parsers of /proc/stat, meminfo, pressure/*, net/dev and diskstats. Lines that are not what they
// should be count as missing.
// ticks_per_second: sysconf(_SC_CLK_TCK).
std::optional<CpuSeconds> parse_cpu(std::string_view text, double ticks_per_second);
MemoryBytes parse_memory(std::string_view text);
PressureSeconds parse_pressure(std::string_view text);
std::vector<NetworkBytes> parse_networks(std::string_view text);
// Only of these devices, in the file's order.
std::vector<DiskStats> parse_disks(std::string_view text, std::span<const BlockDevice> devices);

// What the kernel counts now: for this process since its start, for the machine since boot. A
// value.
struct Machine {
  ProcessStats process;
  SystemStats system;
};

// `devices`: as for read_system_stats(). Any thread; reads about ten files of /proc, never throws.
Machine read_machine(std::span<const BlockDevice> devices);

}  // namespace stoker
