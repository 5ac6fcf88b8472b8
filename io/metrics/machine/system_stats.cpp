#include "io/metrics/machine/system_stats.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

namespace stoker {
namespace {

std::string text_of(const std::string& path) { return proc::read(path).value_or(""); }

std::optional<uint64_t> bytes_of(std::string_view text, std::string_view first_word) {
  const auto kib = proc::number_of(text, first_word);
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=5560956", microseconds
std::optional<double> total_of(const std::vector<std::string_view>& words) {
  constexpr std::string_view kTotal = "total=";
  for (const std::string_view word : words) {
    if (!word.starts_with(kTotal)) continue;
    const auto microseconds = proc::number(word.substr(kTotal.size()));
    if (!microseconds) return std::nullopt;
    return static_cast<double>(*microseconds) * 1e-6;
  }
  return std::nullopt;
}

}  // namespace

std::optional<CpuSeconds> parse_cpu(std::string_view text, double ticks_per_second) {
  for (const std::string_view line : proc::split(text, '\n')) {
    const auto words = proc::split(line, ' ');
    if (words.empty() || words[0] != "cpu") continue;
    if (words.size() < 1 + kCpuModes.size()) return std::nullopt;
    CpuSeconds cpu{};
    for (size_t i = 0; i < cpu.size(); ++i) {
      const auto ticks = proc::number(words[1 + i]);
      if (!ticks) return std::nullopt;
      cpu[i] = static_cast<double>(*ticks) / ticks_per_second;
    }
    return cpu;
  }
  return std::nullopt;
}

MemoryBytes parse_memory(std::string_view text) {
  return {bytes_of(text, "MemAvailable:"), bytes_of(text, "Cached:"), bytes_of(text, "Dirty:"),
          bytes_of(text, "Writeback:")};
}

PressureSeconds parse_pressure(std::string_view text) {
  PressureSeconds pressure;
  for (const std::string_view line : proc::split(text, '\n')) {
    const auto words = proc::split(line, ' ');
    if (words.empty()) continue;
    if (words[0] == "some") pressure.some = total_of(words);
    if (words[0] == "full") pressure.full = total_of(words);
  }
  return pressure;
}

std::vector<NetworkBytes> parse_networks(std::string_view text) {
  constexpr size_t kReceived = 0, kSent = 8;
  std::vector<NetworkBytes> networks;
  for (const std::string_view line : proc::split(text, '\n')) {
    const size_t colon = line.rfind(':');  // an alias has one in its name
    if (colon == std::string_view::npos) continue;
    const auto name = proc::split(line.substr(0, colon), ' ');
    const auto words = proc::split(line.substr(colon + 1), ' ');
    if (name.size() != 1 || name[0] == "lo" || words.size() <= kSent) continue;
    const auto received = proc::number(words[kReceived]);
    const auto sent = proc::number(words[kSent]);
    if (received && sent) networks.push_back({std::string(name[0]), *received, *sent});
  }
  return networks;
}

std::vector<DiskStats> parse_disks(std::string_view text, std::span<const BlockDevice> devices) {
  constexpr uint64_t kSector = 512;  // whatever the device's own is
  constexpr size_t kName = 2, kRead = 5, kWritten = 9, kMilliseconds = 12;
  std::vector<DiskStats> disks;
  for (const std::string_view line : proc::split(text, '\n')) {
    const auto words = proc::split(line, ' ');
    if (words.size() <= kMilliseconds) continue;
    const auto major = proc::number(words[0]);
    const auto minor = proc::number(words[1]);
    if (!major || !minor) continue;
    if (std::ranges::find(devices, BlockDevice{*major, *minor}) == devices.end()) continue;
    const auto read = proc::number(words[kRead]);
    const auto written = proc::number(words[kWritten]);
    const auto milliseconds = proc::number(words[kMilliseconds]);
    if (!read || !written || !milliseconds) continue;
    disks.push_back({std::string(words[kName]), *read * kSector, *written * kSector,
                     static_cast<double>(*milliseconds) * 1e-3});
  }
  return disks;
}

std::vector<BlockDevice> block_devices_under(std::span<const std::string> paths) {
  std::vector<BlockDevice> devices;
  for (const std::string& path : paths) {
    struct stat status {};
    // Major 0: a number that the kernel made up for a file system without a block device.
    if (::stat(path.c_str(), &status) != 0 || major(status.st_dev) == 0) continue;
    const BlockDevice device{major(status.st_dev), minor(status.st_dev)};
    if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  }
  return devices;
}

SystemStats read_system_stats(std::span<const BlockDevice> devices) {
  SystemStats stats;
  stats.cpu = parse_cpu(text_of("/proc/stat"), static_cast<double>(::sysconf(_SC_CLK_TCK)));
  stats.memory = parse_memory(text_of("/proc/meminfo"));
  for (size_t i = 0; i < kPressures.size(); ++i) {
    stats.pressures[i] = parse_pressure(text_of(std::string("/proc/pressure/") + kPressures[i]));
  }
  stats.networks = parse_networks(text_of("/proc/net/dev"));
  if (!devices.empty()) stats.disks = parse_disks(text_of("/proc/diskstats"), devices);
  return stats;
}

Machine read_machine(std::span<const BlockDevice> devices) {
  return {read_process_stats(), read_system_stats(devices)};
}

}  // namespace stoker
