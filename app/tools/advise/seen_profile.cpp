#include "app/tools/advise/seen_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/darshan/darshan.h"
#include "app/tools/report/run_files.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/profiler/counters/record_name.h"
#include "io/profiler/log/darshan_log.h"

namespace stoker {
namespace {

using Steps = IoProfile::Steps;

[[noreturn]] void refuse_profile(const std::string& where, const std::string& why) {
  throw Error(ExitCode::config, fmt::format("advise: the I/O profile {}: {}", where, why));
}

// What a profile may call the root: as it is said, and without links.
std::set<std::string> names_of(const std::string& root) {
  std::set<std::string> names;
  RecordName name;
  if (name.set(std::filesystem::current_path().native(), root)) names.emplace(name.text());
  std::error_code none;
  if (const auto path = std::filesystem::canonical(root, none); !none) names.insert(path);
  return names;
}

std::vector<std::string> logs_at(const std::string& where, const SeenTier& tier) {
  if (!std::filesystem::is_directory(where)) return {where};
  std::vector<std::string> logs = profile_logs(where);
  if (logs.empty()) {
    refuse_profile(where,
                   "it has no io_profile*.darshan: a run with metrics.io_profile leaves one");
  }
  const nlohmann::json summary = read_json(where + "/summary.json");
  const nlohmann::json& tiers = member_at(summary, "tiers");
  if (const auto at = tiers.find(tier.name); at != tiers.end() && at->contains("cache")) {
    refuse_profile(where, "the run read copies of what it had staged, and they are other files");
  }
  return logs;
}

// The longest stretch of steps without a gap.
double longest_stretch(std::vector<Steps> sessions) {
  std::ranges::sort(sessions, {}, &Steps::first);
  double longest = 0;
  std::optional<Steps> stretch;
  for (const Steps& steps : sessions) {
    if (stretch && steps.first <= stretch->last) {
      stretch->last = std::max(stretch->last, steps.last);
    } else {
      stretch = steps;
    }
    longest = std::max(longest, static_cast<double>(stretch->last - stretch->first));
  }
  return longest;
}

void add_reads(const SeenReads& more, SeenReads& reads) {
  for (const auto& [key, pattern] : more) reads[key] += pattern;
}

}  // namespace

SeenProfile seen_profile(const std::string& where, const SeenTier& tier) {
  SeenProfile seen;
  const std::set<std::string> roots = names_of(tier.root);
  std::map<std::string, std::vector<Steps>> sessions;  // for each rank, by its directory
  const bool of_run = std::filesystem::is_directory(where);
  for (const std::string& log : logs_at(where, tier)) {
    const IoProfile profile = read_darshan_log(log).profile;
    if (profile.dropped.posix) {
      refuse_profile(log, "files are missing in it, for there was no memory for more");
    }
    for (const std::string& root : roots) {
      add_reads(seen_reads(profile, root, tier.readers), seen.reads);
    }
    ++seen.logs;
    if (profile.steps) {
      sessions[std::filesystem::path(log).parent_path()].push_back(*profile.steps);
      seen.steps += static_cast<double>(profile.steps->last - profile.steps->first);
    } else if (of_run) {
      refuse_profile(log, "it does not say which steps it saw: another program's?");
    }
  }
  if (of_run && sessions.size() < directories_of_ranks(where).size()) {
    refuse_profile(where, "some of its ranks have none");
  }
  for (const auto& [directory, of_rank] : sessions) {
    const double on_end = longest_stretch(of_rank);
    if (on_end >= static_cast<double>(tier.epoch_steps)) continue;
    refuse_profile(directory,
                   fmt::format("it saw {} steps on end, and an epoch has {}: what it did not see "
                               "would count as not read; metrics.io_profile={{every_steps: {}, "
                               "steps: {}}} sees all",
                               on_end, tier.epoch_steps, tier.epoch_steps, tier.epoch_steps));
  }
  // All ranks take part in each step.
  if (!sessions.empty()) seen.steps /= static_cast<double>(sessions.size());
  if (std::ranges::all_of(seen.reads, [](const auto& one) { return one.second.bytes_read == 0; })) {
    refuse_profile(where,
                   fmt::format("it saw no read below {}: mapped files are read without a "
                               "call, and paths may be left out (metrics.io_profile.exclude)",
                               tier.root));
  }
  return seen;
}

}  // namespace stoker
