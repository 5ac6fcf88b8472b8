#include "app/tools/runs/run_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "app/tools/report/run_files.h"
#include "app/tools/runs/listed_entry.h"
#include "io/core/error.h"
#include "io/core/system/usable_cores.h"
#include "io/core/threads.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Deeper folders are somebody's data.
constexpr int kDeepest = 4;
enum class Place { run, sweep };

void collect(const std::string& directory, int depth,
             std::vector<std::pair<std::string, Place>>& places) {
  std::error_code error;
  // Other programs have files called results.json, too.
  const bool sweep = is_sweep(directory) && fs::exists(directory + "/sweep.yaml", error);
  if (sweep) places.emplace_back(directory, Place::sweep);
  if (sweep && depth > 0) return;
  if (is_run(directory)) {
    places.emplace_back(directory, Place::run);
  } else if (depth < kDeepest) {
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      const bool hidden = entry.path().filename().string().starts_with('.');
      if (hidden || entry.is_symlink(error) || !entry.is_directory(error)) continue;
      collect(entry.path().string(), depth + 1, places);
    }
  }
}

void find_differences(std::vector<ListedRun>& runs) {
  std::vector<const SharedLeaves*> configs;
  for (const ListedRun& run : runs) {
    if (!run.sweep) configs.push_back(&run.config);
  }
  auto rare = rare_leaves(configs);
  auto next = rare.begin();
  for (ListedRun& run : runs) {
    if (!run.sweep) run.differs = std::move(*next++);
    std::stable_partition(run.differs.begin(), run.differs.end(),
                          [](const auto& one) { return one.first.ends_with(".type"); });
  }
}

// What a list is sorted by until something else is asked for. A run without a summary is known by
// when its configuration was written.
double begun(const ListedRun& run) {
  if (run.started_unix_s) return *run.started_unix_s;
  std::error_code error;
  const char* const file = run.sweep ? "/sweep.yaml" : "/config.yaml";
  const auto written = fs::last_write_time(run.directory + file, error);
  if (error) return 0;
  return std::chrono::duration<double>(std::chrono::file_clock::to_sys(written).time_since_epoch())
      .count();
}

}  // namespace

const char* to_string(RunState state) {
  constexpr std::array kNames{"running", "completed", "stopped", "failed", "killed", "incomplete"};
  return kNames[static_cast<size_t>(state)];
}

std::optional<double> ListedRun::figure(const std::string& path) const {
  const auto found = figures.find(path);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::string>& listed_figures() {
  static const std::vector<std::string> kFigures{
      "images_per_s", "device.idle_share", "io_share", "wall_s", "images", "loss"};
  return kFigures;
}

struct RunIndex::Cache {
  explicit Cache(std::string figure) : reading{std::move(figure), {}, 0} {}

  ListReading reading;
  std::mutex mutex;
  std::unordered_map<std::string, ListedEntry> entries;  // by their directories
  List list;
};

RunIndex::RunIndex(std::string folder, std::string figure)
    : folder_(std::move(folder)), cache_(std::make_unique<Cache>(std::move(figure))) {}

RunIndex::~RunIndex() = default;

size_t RunIndex::files_read() const { return cache_->reading.files_read; }

RunIndex::List RunIndex::list() {
  std::error_code error;
  if (!fs::is_directory(folder_, error)) {
    throw Error(ExitCode::environment,
                folder_ + " is no folder: name one with runs or sweeps in it, `stoker runs DIR`");
  }
  const std::lock_guard lock(cache_->mutex);
  std::vector<std::pair<std::string, Place>> places;
  collect(fs::path(folder_).lexically_normal().string(), 0, places);
  std::unordered_map<std::string, ListedEntry> entries;
  std::vector<ListedEntry*> found;
  for (const auto& [directory, place] : places) {
    auto old = cache_->entries.extract(directory);
    found.push_back(old ? &entries.insert(std::move(old)).position->second : &entries[directory]);
  }
  std::atomic<bool> changed = !cache_->entries.empty() || cache_->list == nullptr;
  cache_->entries = std::move(entries);
  parallel_for(usable_cores(), std::ssize(places), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    if (found[at]->refresh(places[at].first, places[at].second == Place::sweep, cache_->reading))
      changed = true;
  });
  if (!changed) return cache_->list;
  std::vector<ListedRun> runs;
  runs.reserve(found.size());
  for (const ListedEntry* entry : found) {
    ListedRun& run = runs.emplace_back(entry->run());
    run.name = fs::path(run.directory).lexically_relative(folder_).string();
    if (run.name == ".") run.name = fs::absolute(run.directory).lexically_normal().filename();
    if (!run.started_unix_s) run.started_unix_s = begun(run);
  }
  std::ranges::sort(runs, [](const ListedRun& a, const ListedRun& b) {
    return std::pair(*a.started_unix_s, a.name) < std::pair(*b.started_unix_s, b.name);
  });
  find_differences(runs);
  cache_->reading.configs.prune();
  cache_->list = std::make_shared<const std::vector<ListedRun>>(std::move(runs));
  return cache_->list;
}

std::vector<ListedRun> list_runs(const std::string& folder, const std::string& figure) {
  return *RunIndex(folder, figure).list();
}

void sort_runs(std::vector<ListedRun>& runs, const std::string& by) {
  if (by == "started") return;  // as they are
  if (by == "name" || by == "state" || by == "verdict") {
    const auto text = [&by](const ListedRun& run) {
      return by == "name" ? run.name : by == "state" ? to_string(run.state) : run.verdict;
    };
    std::ranges::stable_sort(runs, {}, text);
    return;
  }
  const bool known =
      std::ranges::any_of(runs, [&by](const ListedRun& run) { return run.figure(by).has_value(); });
  if (!known && !runs.empty()) {
    throw Error(ExitCode::config,
                fmt::format("--sort: no run has a figure '{}': name, state, verdict, started, or a "
                            "figure of summary.json such as {}",
                            by, fmt::join(listed_figures(), ", ")));
  }
  std::ranges::stable_sort(runs, std::ranges::greater(), [&by](const ListedRun& run) {
    if (run.range && by == "images_per_s") return run.range->second;
    return run.figure(by).value_or(-std::numeric_limits<double>::infinity());
  });
}

}  // namespace stoker
