#include "app/run/environment.h"

#include <fmt/format.h>
#include <stoker_version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "app/base/result_table.h"
#include "app/run/optional_parts.h"
#include "io/core/system/usable_cores.h"
#include "io/device/cuda_library.h"
#include "io/device/host_memory.h"

namespace stoker {
namespace {

// The mount with the longest path that `path` lies under.
std::string file_system(const std::string& path) {
  char resolved[4096];
  if (realpath(path.c_str(), resolved) == nullptr) return "unknown";
  const std::string real = resolved;
  std::ifstream mounts("/proc/mounts");
  // In a chroot it may be that no listed mount holds the path.
  std::string best, type = "unknown", device, point, kind, rest;
  while (mounts >> device >> point >> kind && std::getline(mounts, rest)) {
    const bool under = real == point || point == "/" || real.starts_with(point + "/");
    if (under && point.size() >= best.size()) {
      best = point;
      type = kind;
    }
  }
  return type;
}

// os-release(5): PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string system_name() {
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kKey)) return line.substr(kKey.size(), line.size() - kKey.size() - 1);
  }
  return "unknown";
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

nlohmann::json describe_machine(const std::string& path) {
  utsname kernel{};
  uname(&kernel);
  return {
      {"stoker", STOKER_VERSION},
      {"revision", STOKER_REVISION},
      {"build_type", STOKER_BUILD_TYPE},
      {"compiler", STOKER_COMPILER},
      {"libtorch", STOKER_TORCH_VERSION},
      {"system", system_name()},
      {"host", kernel.nodename},
      {"kernel", fmt::format("{} {}", kernel.sysname, kernel.release)},
      {"cpu", {{"model", cpu_name()}, {"cores", usable_cores()}}},
      {"memory_bytes", static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)},
      {"file_system", file_system(path)},
  };
}

nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir,
                                    int64_t threads) {
  nlohmann::json out = describe_machine(run_dir);
  out["schema_version"] = 1;
  out["device"] = {{"name", device.name},
                   {"emulated", device.emulated},
                   {"timing_method", device.timing_method}};
  out["threads"] = threads;
  out["command"] = command_line();
  return out;
}

ExitCode print_environment(const EnvironmentArguments& arguments) {
  nlohmann::json out = describe_machine(".");
  ResultTable machine;
  machine.put({"", "program"}, version_line());
  machine.put({"", "system"},
              out["system"].get<std::string>() + ", " + out["kernel"].get<std::string>());
  machine.put({"", "host"}, out["host"].get<std::string>());
  machine.put({"", "cpu"}, out["cpu"]["model"].get<std::string>());
  machine.put({"", "usable cores"}, out["cpu"]["cores"].get<int64_t>());
  machine.put({"", "memory, GiB", 1}, out["memory_bytes"].get<double>() / (1 << 30));
  machine.put({"", "file system"}, out["file_system"].get<std::string>());
  ResultTable parts({{"name", "part"}, {"works", "works"}, {"detail", "what, or why not"}});
  for (const OptionalPart& part : optional_parts()) parts.add({part.name, part.works, part.detail});
  out["gpus"] = cuda_devices();
  for (const nlohmann::json& gpu : out["gpus"]) machine.put({"", "gpu"}, gpu.get<std::string>());
  out["parts"] = parts.json();
  return print_result(arguments.json, out, machine.record_text(0) + "\n" + parts.text(), 2);
}

std::vector<std::pair<std::string, std::string>> build_labels() {
  return {{"version", STOKER_VERSION},
          {"revision", STOKER_REVISION},
          {"compiler", STOKER_COMPILER},
          {"build_type", STOKER_BUILD_TYPE},
          {"torch", STOKER_TORCH_VERSION}};
}

std::string version_line() {
  return fmt::format("stoker {} (LibTorch {}, {}, {}, revision {})", STOKER_VERSION,
                     STOKER_TORCH_VERSION, STOKER_COMPILER, STOKER_BUILD_TYPE, STOKER_REVISION);
}

}  // namespace stoker
