#include "app/tools/sweep/mounts.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "app/tools/sweep/runner.h"
#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTiers = "mounts.yaml";
// What `stoker mount` logs once its files can be read.
constexpr const char* kReady = "mounted tier ";
constexpr std::chrono::milliseconds kPoll{20};

// Nothing is asked of the file system: what is mounted there may not answer.
fs::path plain(const std::string& path) { return fs::absolute(path).lexically_normal(); }

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

SweepMounts::SweepMounts(const SweepOptions& options, const std::string& directory)
    : options_(options), directory_(directory) {
  for (const auto& [name, mount] : options_.mounts) {
    setenv(("STOKER_MOUNT_" + name).c_str(), path(name).c_str(), 1);
  }
}

SweepMounts::~SweepMounts() { end(); }

std::vector<std::string> SweepMounts::words(const std::string& name) const {
  std::vector<std::string> words = {"mount", directory_ + "/" + kTiers, name, path(name)};
  for (const Word& word : options_.mounts.at(name).arguments) words.push_back(word.text);
  return words;
}

std::vector<std::string> SweepMounts::below(const std::vector<std::string>& folders) const {
  std::vector<std::string> names;
  for (const auto& [name, mount] : options_.mounts) {
    const fs::path at = plain(path(name));
    const bool read = std::ranges::any_of(
        folders, [&](const std::string& folder) { return lies_below(plain(folder), at); });
    if (read) names.push_back(name);
  }
  return names;
}

void SweepMounts::begin(const std::vector<std::string>& names, const SweepDirectory& directory,
                        const std::function<bool()>& stop_requested) {
  if (names.empty()) return;
  Node tiers = Node::map();
  for (const auto& [name, mount] : options_.mounts) {
    tiers.entries.push_back({name, {}, mount.tier.dump()});
  }
  Node file = Node::map();
  file.entries.push_back({"storage", {}, std::move(tiers)});
  directory.write_file(kTiers, to_yaml(file) + "\n");
  for (const std::string& name : names) {
    const std::string log = directory.path("logs/mount-" + name + ".log");
    const FileDescriptor to = open_file("write", log, O_WRONLY | O_CREAT | O_TRUNC);
    make_directories(path(name));
    mounted_.push_back(
        {name, log,
         std::make_unique<ChildProcess>(this_program(words(name), {}, to.get(), to.get()))});
  }
  for (const Mounted& mount : mounted_) {
    while (read_if_there(mount.log).value_or("").find(kReady) == std::string::npos) {
      if (stop_requested()) return;
      if (const std::optional<int> code = mount.process->ended()) {
        throw Error(known_code(*code),
                    fmt::format("mounts: {}: {}", mount.name, last_line(mount.log)));
      }
      std::this_thread::sleep_for(kPoll);
    }
  }
}

void SweepMounts::check(const std::vector<std::string>& names) {
  for (const Mounted& mount : mounted_) {
    if (std::ranges::find(names, mount.name) == names.end() || !mount.process->ended()) continue;
    throw Error(ExitCode::environment,
                fmt::format("mounts: {}: it is no longer mounted ({}); the same command goes on",
                            mount.name, last_line(mount.log)));
  }
}

void SweepMounts::end() {
  for (const Mounted& mount : mounted_) {
    if (!mount.process->ended()) mount.process->signal(SIGTERM);
  }
  for (const Mounted& mount : mounted_) mount.process->wait();
  mounted_.clear();
}

}  // namespace stoker
