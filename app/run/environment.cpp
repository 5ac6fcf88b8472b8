#include "app/run/environment.h"

#include <fmt/format.h>
#include <stoker_version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/device/host_memory.h"
#include "io/loader/loader.h"

namespace stoker {
namespace {

// The mount with the longest path that `path` lies under.
std::string file_system(const std::string& path) {
  char resolved[4096];
  if (realpath(path.c_str(), resolved) == nullptr) return "unknown";
  const std::string real = resolved;
  std::ifstream mounts("/proc/mounts");
  // In a chroot no mount may be listed that holds the path.
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

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

}  // namespace

nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir) {
  utsname kernel{};
  uname(&kernel);
  return {
      {"schema_version", 1},
      {"stoker", STOKER_VERSION},
      {"revision", STOKER_REVISION},
      {"build_type", STOKER_BUILD_TYPE},
      {"compiler", STOKER_COMPILER},
      {"libtorch", STOKER_TORCH_VERSION},
      {"host", kernel.nodename},
      {"kernel", fmt::format("{} {}", kernel.sysname, kernel.release)},
      {"cpu", {{"model", cpu_name()}, {"cores", Workers{}.resolve()}}},
      {"memory_bytes", static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)},
      {"device",
       {{"name", device.name},
        {"emulated", device.emulated},
        {"timing_method", device.timing_method}}},
      {"file_system", file_system(run_dir)},
      {"command", command_line()},
  };
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
