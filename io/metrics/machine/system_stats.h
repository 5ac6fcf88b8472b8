#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// The machine as its kernel counts it, since boot: all processes, also those outside a container.
// Absent, or not in the list: this kernel does not say.

inline constexpr std::array<const char*, 8> kCpuModes{"user",   "nice", "system",  "idle",
                                                      "iowait", "irq",  "softirq", "steal"};
// Of all CPUs together, in the order of kCpuModes. iowait may decrease.
using CpuSeconds = std::array<double, kCpuModes.size()>;

struct MemoryBytes {
  std::optional<uint64_t> available;
  std::optional<uint64_t> cached;
  std::optional<uint64_t> dirty;
  std::optional<uint64_t> writeback;
};

// Time since boot in which some tasks, or all that were not idle, waited for a resource
// (/proc/pressure). A value.
struct PressureSeconds {
  std::optional<double> some;
  std::optional<double> full;
};

struct NetworkBytes {
  std::string device;
  uint64_t received = 0;
  uint64_t sent = 0;
};

struct DiskStats {
  std::string device;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
  double io_seconds = 0;  // with at least one request under way
};

// The machine now. A value.
struct SystemStats {
  std::optional<CpuSeconds> cpu;
  MemoryBytes memory;
  PressureSeconds cpu_pressure;
  PressureSeconds io_pressure;
  PressureSeconds memory_pressure;
  std::vector<NetworkBytes> networks;  // without the loopback
  std::vector<DiskStats> disks;
};

// `paths`: whose block devices to report (a partition as itself). A path that does not exist, or
// lies on a file system that has no block device of its own (overlay, tmpfs, NFS, Btrfs), adds
// none. Any thread.
SystemStats read_system_stats(std::span<const std::string> paths);

struct BlockDevice {
  uint64_t major = 0;
  uint64_t minor = 0;
  bool operator==(const BlockDevice&) const = default;
};
// The block devices that hold these paths, each once.
std::vector<BlockDevice> block_devices_under(std::span<const std::string> paths);

// Parsers of /proc/stat, meminfo, pressure/*, net/dev and diskstats. Lines that are not what they
// should be count as missing.
std::optional<CpuSeconds> parse_cpu(std::string_view text, double ticks_per_second);
MemoryBytes parse_memory(std::string_view text);
PressureSeconds parse_pressure(std::string_view text);
std::vector<NetworkBytes> parse_networks(std::string_view text);
std::vector<DiskStats> parse_disks(std::string_view text, std::span<const BlockDevice> devices);

}  // namespace stoker
