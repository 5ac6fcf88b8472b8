#include "app/tools/run_program/watch/machine_watch.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/tools/run_program/watch/task_files.h"
#include "io/metrics/machine/process_stats.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// All but idle and iowait.
double busy_of(const CpuSeconds& cpu) {
  constexpr size_t kIdle = 3;
  constexpr size_t kIoWait = 4;
  double sum = 0;
  for (size_t i = 0; i < cpu.size(); ++i) {
    if (i != kIdle && i != kIoWait) sum += cpu[i];
  }
  return sum;
}

}  // namespace

std::optional<double> throttled_seconds(std::string_view cpu_stat) {
  if (const auto microseconds = proc::number_of(cpu_stat, "throttled_usec")) {
    return 1e-6 * static_cast<double>(*microseconds);
  }
  if (const auto nanoseconds = proc::number_of(cpu_stat, "throttled_time")) {
    return 1e-9 * static_cast<double>(*nanoseconds);
  }
  return std::nullopt;
}

std::vector<std::string> cpu_stat_paths(std::string_view cgroup) {
  std::vector<std::string> paths;
  for (const std::string_view line : proc::split(cgroup, '\n')) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    if (names.empty()) {
      paths.push_back("/sys/fs/cgroup" + group + "/cpu.stat");
      continue;
    }
    const auto controllers = proc::split(names, ',');
    if (std::ranges::find(controllers, "cpu") == controllers.end()) continue;
    paths.push_back("/sys/fs/cgroup/" + std::string(names) + group + "/cpu.stat");
  }
  return paths;
}

MachineWatch::MachineWatch() {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator("/sys/block", none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("loop") || name.starts_with("ram") || name.starts_with("zram")) continue;
    const auto text = proc::read(entry.path() / "dev");
    const size_t colon = text ? text->find(':') : std::string::npos;
    if (colon == std::string::npos) continue;
    const auto major = proc::number(std::string_view(*text).substr(0, colon));
    const auto minor =
        proc::number(std::string_view(*text).substr(colon + 1, text->find('\n') - colon - 1));
    if (!major || !minor) continue;
    devices_.push_back({.major = *major, .minor = *minor});
    names_.push_back(name);
  }
  for (unsigned index = 0; nvml_.available(); ++index) {
    auto gpu = nvml_.device_by_index(index);
    if (!gpu) break;
    gpus_.push_back(std::move(*gpu));
  }
}

std::optional<double> MachineWatch::busiest_disk(double passed_s) {
  const auto text = proc::read("/proc/diskstats");
  if (!text) return std::nullopt;
  std::vector<DiskStats> disks = parse_disks(*text, devices_);
  std::optional<double> most;
  for (const DiskStats& disk : disks) {
    const auto before = std::ranges::find(disks_, disk.device, &DiskStats::device);
    if (before == disks_.end() || passed_s <= 0) continue;
    const double share = (disk.io_seconds - before->io_seconds) / passed_s;
    most = std::max(most.value_or(0), std::clamp(share, 0.0, 1.0));
  }
  disks_ = std::move(disks);
  return most;
}

std::optional<double> MachineWatch::busiest_gpu() {
  std::optional<double> most;
  for (NvmlDevice& gpu : gpus_) {
    const GpuReadings readings = gpu.read();
    if (readings.kernel_resident) {
      most = std::max(most.value_or(0), *readings.kernel_resident);
    }
  }
  if (most) {
    gpu_sum_ += *most;
    ++gpu_looks_;
  }
  return most;
}

std::optional<double> MachineWatch::gpu_busy() const {
  if (gpu_looks_ == 0) return std::nullopt;
  return gpu_sum_ / static_cast<double>(gpu_looks_);
}

const SampleWindow& MachineWatch::look(double now_s, double program_cpu_s, bool has_gpu) {
  const double passed = now_s - last_s_;
  now_.disk_busy = busiest_disk(passed);
  if (has_gpu) now_.gpu_busy = busiest_gpu();
  const auto text = proc::read("/proc/stat");
  const auto cpu = text ? parse_cpu(*text, ticks_per_second()) : std::nullopt;
  if (cpu && cpu_ && passed > 0) {
    const double all = busy_of(*cpu) - busy_of(*cpu_);
    now_.other_cores = std::max(0.0, (all - (program_cpu_s - program_cpu_s_)) / passed);
  }
  cpu_ = cpu;
  program_cpu_s_ = program_cpu_s;
  last_s_ = now_s;
  return now_;
}

}  // namespace stoker
