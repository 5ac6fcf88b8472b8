#include "app/tools/bench/bench_tier.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "app/base/progress_line.h"
#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/core/threads.h"
#include "io/storage/file_tree.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBegin = ".stoker-bench-";
constexpr const char* kLock = ".lock";

std::string folder_above(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string prefix_of(const std::string& folder) { return folder.empty() ? "" : folder + "/"; }

// What all processes here have in common whose numbers mean the same.
std::string this_world() { return xxh3_64(place_of(0)); }

void remove_all(const FileTree& files, const std::string& path) {
  std::error_code error;
  fs::remove_all(files.full(path), error);
  if (error) throw IoError("remove " + files.full(path) + ": " + error.message(), error.value());
}

// Who has the lock is alive, or the only one. Empty: somebody else has it. Nothing: the file system
// has no locks.
std::optional<FileDescriptor> lock_of(const FileTree& files, const std::string& path) {
  try {
    return files.lock(path + kLock);
  } catch (const IoError& error) {
    if (!has_no_locks(error.errno_value())) throw;
    return {};
  }
}

// Of killed processes. What cannot be removed stays.
void remove_left_files(const FileTree& files, const std::string& folder) {
  for (const std::string& name : files.list(folder)) {
    if (!name.starts_with(kBegin) || !name.ends_with(kLock)) continue;
    const std::string lock_path = prefix_of(folder) + name;
    const std::string path = lock_path.substr(0, lock_path.size() - std::string_view(kLock).size());
    try {
      const auto lock = lock_of(files, path);
      if (!lock || !*lock) continue;
      remove_all(files, path);
      files.remove(lock_path);
    } catch (const IoError&) {
      continue;
    }
  }
}

// Whether the process has ended whose folder has this name.
bool is_left(std::string_view name) {
  const std::string begin = kBegin + this_world() + "-";
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  pid_t process = 0;
  std::from_chars(name.data(), name.data() + name.size(), process);
  return process > 0 && Neighbour(place_of(process)).ended();
}

void remove_left_objects(Storage& tier, const std::string& folder) {
  const std::string prefix = prefix_of(folder);
  for (const ObjectInfo& object : tier.list(prefix + kBegin)) {
    const std::string_view name = std::string_view(object.key).substr(prefix.size());
    if (is_left(name.substr(0, name.find('/')))) tier.remove(object.key);
  }
}

}  // namespace

std::string bench_folder_name(const std::string& below) {
  return unique_name(fmt::format("{}{}{}-{}-", prefix_of(below), kBegin, this_world(), ::getpid()));
}

BenchFolder::BenchFolder(Storage& tier, std::string path)
    : tier_(tier), files_(files_of(tier)), path_(std::move(path)) {
  const std::string above = folder_above(path_);
  if (files_ == nullptr) {
    remove_left_objects(tier_, above);
    return;
  }
  remove_left_files(*files_, above);
  for (std::string one = above; !one.empty() && !files_->exists(one); one = folder_above(one)) {
    made_.push_back(one);
  }
  make();
}

// Until the lock is that of the file which is there, for who removes what others left may be
// quicker than the lock.
void BenchFolder::make() {
  constexpr int kTries = 1000;
  for (int tries = 0; tries < kTries; ++tries) {
    files_->make_directories(path_, false);
    std::optional<FileDescriptor> lock = lock_of(*files_, path_);
    if (!lock) return;
    lock_ = std::move(*lock);
    if (lock_ && files_->exists(path_ + kLock) && files_->exists(path_)) return;
    sleep_interruptibly(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
  }
  throw Error(
      ExitCode::environment,
      files_->full(path_ + kLock) + ": another process keeps this lock; run the benchmark again");
}

bool BenchFolder::is_of(const Storage& tier) const {
  const FileTree* const files = files_of(tier);
  if (files_ == nullptr || files == nullptr) return false;
  std::error_code ignored;
  return fs::equivalent(files_->full(path_), files->full(path_), ignored);
}

void add_bench_folder(std::vector<std::unique_ptr<BenchFolder>>& folders, Storage& tier,
                      const std::string& path) {
  const auto same = [&](const auto& folder) { return folder->is_of(tier); };
  if (std::ranges::any_of(folders, same)) return;
  folders.push_back(std::make_unique<BenchFolder>(tier, path));
}

BenchFolder::~BenchFolder() {
  try {
    remove();
  } catch (const std::exception& error) {
    print_note(std::string("warning: ") + error.what());
  }
}

void BenchFolder::remove() const {
  if (files_ == nullptr) {
    for (const ObjectInfo& object : tier_.list(path_ + "/")) tier_.remove(object.key);
    return;
  }
  remove_all(*files_, path_);
  files_->remove(path_ + kLock);
  std::error_code ignored;
  for (const std::string& one : made_) fs::remove(files_->full(one), ignored);
}

std::vector<TierMeter::State> parts_of_tier(const Hub& hub, const std::string& tier) {
  std::vector<TierMeter::State> parts = hub.tiers();
  std::erase_if(parts, [&](const TierMeter::State& part) {
    return tier.empty() || (part.name != tier && !part.name.starts_with(tier + "."));
  });
  return parts;
}

std::vector<std::string> tiers_text(const std::vector<TierMeter::State>& tiers) {
  std::vector<std::string> lines;
  for (const TierMeter::State& tier : tiers) {
    const std::string begin = fmt::format("tier {}: ", tier.name);
    lines.push_back(begin + tier.type +
                    (tier.emulated ? ", EMULATED: calculated, not measured" : ""));
    if (tier.overruns > 0) {
      lines.push_back(
          fmt::format("{}{} operations took longer than the emulation's model says: its figures "
                      "are low",
                      begin, tier.overruns));
    }
    for (const std::string& condition : tier.conditions) lines.push_back(begin + condition);
  }
  return lines;
}

nlohmann::json tiers_json(const std::vector<TierMeter::State>& tiers) {
  nlohmann::json json = nlohmann::json::array();
  for (const TierMeter::State& tier : tiers) {
    json.push_back({{"name", tier.name},
                    {"type", tier.type},
                    {"emulated", tier.emulated},
                    {"conditions", tier.conditions}});
    if (tier.emulated) json.back()["overruns"] = tier.overruns;
  }
  return json;
}

}  // namespace stoker
