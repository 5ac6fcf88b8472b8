#include "app/tools/run_program/verdict/program_verdict.h"

#include <algorithm>
#include <array>
#include <functional>

namespace stoker {
namespace {

// With less than this one does not judge.
constexpr double kLeast_s = 0.5;
constexpr uint64_t kLeastLooks = 5;

// A rank for which the others wait.
struct Straggler {
  size_t rank = 0;
  double gain = 0;  // what its being as fast as the others would save: the least that one waits
};

// There is one where a rank waits little and the others do, and where that costs more than what
// holds up every one of them.
std::optional<Straggler> straggler(const std::vector<TimeSplit>& splits, Bound common) {
  if (splits.size() < 2) return std::nullopt;
  std::vector<double> waits;
  waits.reserve(splits.size());
  double of_all = common == Bound::peers ? 0 : 1;
  for (const TimeSplit& split : splits) {
    waits.push_back(split.share(Bound::peers));
    if (common != Bound::peers) of_all = std::min(of_all, split.share(common));
  }
  const auto rank = static_cast<size_t>(std::ranges::min_element(waits) - waits.begin());
  const double own = waits[rank];
  waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(rank));
  const double gain = *std::ranges::min_element(waits);
  constexpr double kWaits = 0.2;
  constexpr double kApart = 0.15;
  if (gain < kWaits || gain - own < kApart || gain < of_all) return std::nullopt;
  return Straggler{.rank = rank, .gain = gain};
}

// The ranks' mean.
TimeSplit mean_of(const std::vector<TimeSplit>& splits) {
  TimeSplit mean;
  for (const TimeSplit& split : splits) {
    for (size_t i = 0; i < kBounds; ++i) mean.seconds[i] += split.seconds[i];
  }
  return mean;
}

std::vector<ProgramVerdict::Cause> causes_of(const TimeSplit& split) {
  std::vector<ProgramVerdict::Cause> causes;
  constexpr double kLittle = 0.001;
  for (size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    if (split.share(bound) >= kLittle) causes.push_back({bound, split.share(bound)});
  }
  std::ranges::sort(causes, std::greater(), &ProgramVerdict::Cause::share);
  return causes;
}

// Programs, libraries and modules: what every start reads.
bool of_program(const std::string& path) {
  for (const char* ending : {".py", ".pyc", ".so", ".dist-info", "__pycache__"}) {
    if (path.ends_with(ending)) return true;
  }
  if (path.find(".so.") != std::string::npos || path.empty()) return true;
  for (const char* folder : {"/usr/", "/lib", "/etc/", "/bin/", "/sbin/", "/opt/"}) {
    if (path.starts_with(folder)) return true;
  }
  return path.find("/site-packages/") != std::string::npos ||
         path.find("/dist-packages/") != std::string::npos;
}

}  // namespace

std::vector<BlockedOn> data_files(const ProgramSamples& samples) {
  std::vector<BlockedOn> files;
  for (const BlockedOn& one : samples.blocked) {
    if (one.doing == Doing::in_file && !of_program(one.path)) files.push_back(one);
  }
  return files;
}

ProgramVerdict judge_program(const ProgramSamples& samples, const ProgramIo& io) {
  const ProgramRoles roles = roles_of(samples);
  VerdictMatter matter{.samples = samples, .io = io, .roles = roles, .splits = {}};
  for (const ProgramRoles::Rank& rank : roles.ranks) {
    matter.splits.push_back(split_time(samples, rank, roles.ranks.size() == 1));
  }
  ProgramVerdict verdict;
  TimeSplit all = mean_of(matter.splits);
  if (!roles.ranks.empty()) {
    verdict.judged_s = all.sum() / static_cast<double>(roles.ranks.size());
  }
  verdict.causes = causes_of(all);
  if (verdict.judged_s < kLeast_s || samples.looks < kLeastLooks) {
    put_into_words(matter, verdict);
    return verdict;
  }
  const Bound common = all.largest();
  if (const auto slow = straggler(matter.splits, common)) {
    matter.rank = slow->rank;
    matter.straggles = true;
    verdict.bound = Bound::peers;
    verdict.share = all.share(Bound::peers);
    verdict.gain_at_most = slow->gain;
  } else {
    verdict.bound = common;
    verdict.share = all.share(*verdict.bound);
    verdict.gain_at_most = verdict.share;
    const auto most = std::ranges::max_element(
        matter.splits, {}, [&](const TimeSplit& split) { return split[*verdict.bound]; });
    matter.rank = static_cast<size_t>(most - matter.splits.begin());
  }
  put_into_words(matter, verdict);
  return verdict;
}

}  // namespace stoker
