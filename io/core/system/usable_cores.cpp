#include "io/core/system/usable_cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace stoker {
namespace {

std::atomic<int64_t> sharing = 1, own_index = 0;

// Those that a process (0: the calling thread) may run on. Empty: not known.
std::vector<int> cores_of(pid_t process) {
  std::vector<int> cores;
  cpu_set_t mask;
  if (::sched_getaffinity(process, sizeof mask, &mask) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

// Those that whoever started this process may use: its own may be those it was bound to.
size_t cores_of_launcher(size_t own) { return std::max(own, cores_of(::getppid()).size()); }

// Is `name` one of `names`, which are separated by commas?
bool lists(const std::string& names, const std::string& name) {
  return ("," + names + ",").find("," + name + ",") != std::string::npos;
}

// A hierarchy of groups that limits the CPU, as it is mounted.
struct Hierarchy {
  bool v2;
  std::string root;   // the group that is mounted
  std::string mount;  // where
};

// proc(5): "36 35 98:0 /root /mount options optional... - type source super_options".
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> result;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    const std::vector<std::string> word{std::istream_iterator<std::string>(words), {}};
    const auto dash = std::find(word.begin(), word.end(), "-");
    if (word.size() < 6 || word.end() - dash < 4) continue;
    const bool v2 = dash[1] == "cgroup2";
    if (v2 || (dash[1] == "cgroup" && lists(dash[3], "cpu"))) {
      result.push_back({v2, word[3], word[4]});
    }
  }
  return result;
}

// cgroups(7): "4:cpu,cpuacct:/path", and "0::/path" for v2. Empty: this process is in no group.
std::string group_of_process(const std::string& root, bool v2) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return "";
}

// Where a number is due the kernel may say "max", or -1.
std::optional<double> quota_at(const std::string& directory, bool v2) {
  double quota = 0, period = 0;
  if (v2) {
    std::ifstream(directory + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    std::string below = group_of_process(root, hierarchy.v2);
    if (hierarchy.root != "/") {
      // A container without a namespace for its groups: the mount begins at its own.
      below = below.starts_with(hierarchy.root) ? below.substr(hierarchy.root.size()) : "";
    }
    while (true) {
      std::string group = root;
      group.append(hierarchy.mount).append(below);
      const auto quota = quota_at(group, hierarchy.v2);
      if (quota) least = std::min(*quota, least.value_or(*quota));
      const size_t parent = below.rfind('/');
      if (parent == std::string::npos) break;
      below.resize(parent);
    }
  }
  return least;
}

void share_cores(int64_t index, int64_t processes) {
  sharing = std::max<int64_t>(1, processes);
  own_index = index;
}

std::vector<int> own_cores() {
  std::vector<int> cores = cores_of(0);
  const size_t own = cores.size();
  const auto index = static_cast<size_t>(own_index), parts = static_cast<size_t>(sharing);
  if (own == 0 || own < cores_of_launcher(own)) return cores;
  if (own < parts) return {cores[index % own]};
  const auto begin = cores.begin();
  return {begin + static_cast<ptrdiff_t>(index * own / parts),
          begin + static_cast<ptrdiff_t>((index + 1) * own / parts)};
}

int64_t usable_cores() {
  const size_t known = std::max<size_t>(1, cores_of(0).size());
  const auto own = static_cast<int64_t>(known);
  auto part = static_cast<double>(cores_of_launcher(known));
  if (const auto quota = cpu_quota()) part = std::min(part, std::ceil(*quota));
  part = std::floor(part / static_cast<double>(sharing));
  return std::max<int64_t>(1, std::min(own, static_cast<int64_t>(part)));
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  }
  return "CPU";
}

}  // namespace stoker
