#include "app/process/provenance.h"

#include <fmt/format.h>
#include <stoker_version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "io/core/system/usable_cores.h"

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

std::string version_line() {
  const std::string torch = STOKER_TORCH_VERSION;
  return fmt::format("stoker {} ({}, {}, {}, revision {})", STOKER_VERSION,
                     torch.empty() ? "without LibTorch" : "LibTorch " + torch, STOKER_COMPILER,
                     STOKER_BUILD_TYPE, STOKER_REVISION);
}

std::vector<std::pair<std::string, std::string>> build_labels() {
  return {{"version", STOKER_VERSION},
          {"revision", STOKER_REVISION},
          {"compiler", STOKER_COMPILER},
          {"build_type", STOKER_BUILD_TYPE},
          {"torch", STOKER_TORCH_VERSION}};
}

}  // namespace stoker
