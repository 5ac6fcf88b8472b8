#include "app/tools/advise/object_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/base/command_line.h"
#include "app/tools/darshan/darshan.h"
#include "app/tools/report/run_files.h"
#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/loader/sampler.h"
#include "io/profiler/counters/record_name.h"
#include "io/profiler/log/darshan_log.h"

namespace stoker {

ReadPattern& ReadPattern::operator+=(const ReadPattern& more) {
  opens += more.opens;
  requests += more.requests;
  seeks += more.seeks;
  bytes_read += more.bytes_read;
  return *this;
}

void use_seen(const SeenReads& seen, double times, std::vector<ObjectUse>& uses) {
  for (ObjectUse& use : uses) {
    const auto found = seen.find(use.key);
    const ReadPattern reads = found == seen.end() ? ReadPattern{} : found->second;
    static_cast<ReadPattern&>(use) = {times * reads.opens, times * reads.requests,
                                      times * reads.seeks, times * reads.bytes_read};
  }
}

SeenReads seen_reads(const IoProfile& profile, const std::string& root, int64_t readers) {
  const double others = 1 - 1 / static_cast<double>(std::max<int64_t>(readers, 1));
  const std::string below = root.ends_with('/') ? root : root + '/';
  SeenReads seen;
  for (const FileIo& file : profile.files) {
    if (!file.posix || !file.path.starts_with(below)) continue;
    const auto counter = [&](PosixCounters::Counter which) {
      return static_cast<double>(std::max<int64_t>(0, file.posix->counters[which]));
    };
    const double requests = counter(PosixCounters::READS);
    if (requests == 0) continue;
    const double opens = counter(PosixCounters::OPENS);
    const double consecutive = std::min(requests, counter(PosixCounters::CONSEC_READS));
    // Reads of nothing, at the end: nothing is sought for them.
    const double empty = std::min({consecutive, opens, counter(PosixCounters::SIZE_READ_0_100)});
    seen[to_text(std::string_view(file.path).substr(below.size()))] +=
        {opens, requests, requests - consecutive + (consecutive - empty) * others,
         counter(PosixCounters::BYTES_READ)};
  }
  return seen;
}

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

namespace {

// Epochs that are gone through sample by sample; further ones are like them.
constexpr int64_t kExactEpochs = 4;

// One reading of a whole object.
ReadPattern whole_object(uint64_t bytes, uint64_t piece, int64_t readers) {
  const auto size = static_cast<double>(bytes);
  if (piece == 0 || bytes == 0) return {1, 1, bytes > 0 ? 1.0 : 0.0, size};
  const double pieces = std::ceil(size / static_cast<double>(piece));
  // With n readers, the next request comes from another reader in n - 1 of n cases.
  const double others = 1 - 1 / static_cast<double>(readers);
  return {1, pieces + 1, 1 + (pieces - 1) * others, size};
}

class UseCounter {
 public:
  UseCounter(const Dataset& dataset, const ExperimentOptions& options, std::vector<ObjectUse>& uses,
             uint64_t piece, int64_t readers)
      : dataset_(dataset),
        whole_files_(options.dataset.info().whole_files ||
                     options.loader.info().order == SampleOrder::shards),
        uses_(uses),
        piece_(piece),
        readers_(readers) {
    for (size_t i = 0; i < uses.size(); ++i) places_[uses[i].key] = i;
  }

  // times[i]: how often sample i is read. order: places of first reads follow it.
  void add(Split split, const std::vector<double>& times, const std::vector<int64_t>& order) {
    std::vector<char> counted(uses_.size());
    for (const int64_t index : order) {
      SampleInfo info = dataset_.info(split, index);
      const bool own = info.object.empty();
      const auto found = places_.find(own ? info.key : info.object);
      if (found == places_.end()) continue;  // the data set keeps something else there
      ObjectUse& use = uses_[found->second];
      if (use.first < 0) use.first = next_++;
      const bool whole = own || whole_files_;
      if (whole && std::exchange(counted[found->second], 1) != 0) continue;
      const ReadPattern once = whole ? whole_object(use.bytes, piece_, readers_)
                                     : ReadPattern{1, 1, 1, static_cast<double>(info.bytes)};
      add(once, times[static_cast<size_t>(index)], use);
    }
  }

 private:
  static void add(const ReadPattern& once, double times, ObjectUse& use) {
    use.opens += times * once.opens;
    use.requests += times * once.requests;
    use.seeks += times * once.seeks;
    use.bytes_read += times * once.bytes_read;
  }

  const Dataset& dataset_;
  const bool whole_files_;
  std::vector<ObjectUse>& uses_;
  const uint64_t piece_;
  const int64_t readers_;
  std::unordered_map<std::string, size_t> places_;
  int64_t next_ = 0;
};

// How often each training sample is read in a number of epochs. `order` becomes the order of the
// first epoch.
std::vector<double> training_times(const Sampler& sampler, int64_t samples, double epochs,
                                   std::vector<int64_t>& order) {
  std::vector<double> times(static_cast<size_t>(samples));
  double left = epochs;
  for (int64_t epoch = 0; epoch < kExactEpochs && left > 0; ++epoch, left -= 1) {
    std::vector<int64_t> epoch_samples = sampler.order(epoch).samples;
    const double share = std::min(left, 1.0);
    const auto read =
        static_cast<size_t>(std::llround(share * static_cast<double>(epoch_samples.size())));
    for (size_t i = 0; i < read; ++i) times[static_cast<size_t>(epoch_samples[i])] += 1;
    if (epoch == 0)
      order.assign(epoch_samples.begin(), epoch_samples.begin() + static_cast<int64_t>(read));
    if (epoch + 1 == kExactEpochs && left > 1) {
      const double more = (left - 1) * static_cast<double>(epoch_samples.size()) /
                          static_cast<double>(std::max<int64_t>(samples, 1));
      for (double& count : times) count += more;
    }
  }
  return times;
}

}  // namespace

LoaderOptions loader_options(const Component<Loader>& loader) {
  const Node node = loader.dump();
  LoaderOptions options;
  FieldReader reader(Section(node, "", "loader", nullptr));
  options.visit(reader);
  return options;
}

PassCounts passes_of(const ExperimentOptions& options, int64_t steps_per_epoch) {
  const TrainingOptions& training = options.training;
  PassCounts passes{static_cast<double>(training.epochs), 0};
  if (training.max_steps && steps_per_epoch > 0) {
    passes.epochs = std::min(passes.epochs, static_cast<double>(*training.max_steps) /
                                                static_cast<double>(steps_per_epoch));
  }
  const EvaluationOptions& evaluation = options.evaluation;
  if (!evaluation.enabled || options.device.info().emulated) return passes;
  const auto whole = static_cast<int64_t>(passes.epochs);
  const int64_t every = evaluation.every_epochs.value_or(0);
  passes.evaluations = every > 0 ? whole / every : 0;
  const bool last_counts =
      every > 0 && passes.epochs == static_cast<double>(whole) && whole % every == 0 && whole > 0;
  if (!last_counts) ++passes.evaluations;
  return passes;
}

std::vector<ObjectUse> configured_uses(const ExperimentOptions& options, const Dataset& dataset,
                                       const std::vector<ObjectInfo>& listing, uint64_t read_piece,
                                       int64_t readers) {
  std::vector<ObjectUse> uses;
  for (const ObjectInfo& object : listing) {
    if (object.key.ends_with('/')) continue;
    ObjectUse use;
    use.key = object.key;
    use.bytes = object.bytes;
    uses.push_back(std::move(use));
  }
  const Sampler sampler(loader_options(options.loader), Shard{}, dataset, Split::train,
                        options.run.seed);
  PassCounts passes = passes_of(options, sampler.batches());
  // What stays in memory is read once: on the device, or in a data set around another one.
  const bool once = options.loader.info().resident || options.dataset.inner();
  if (once) passes.epochs = std::min(passes.epochs, 1.0);
  UseCounter counter(dataset, options, uses, read_piece, readers);
  std::vector<int64_t> order;
  const std::vector<double> times =
      training_times(sampler, dataset.size(Split::train), passes.epochs, order);
  std::vector<char> in_order(times.size());
  for (const int64_t index : order) in_order[static_cast<size_t>(index)] = 1;
  for (size_t i = 0; i < times.size(); ++i) {  // those that only a later epoch reads
    if (in_order[i] == 0 && times[i] > 0) order.push_back(static_cast<int64_t>(i));
  }
  counter.add(Split::train, times, order);
  if (passes.evaluations > 0) {
    const auto tests = static_cast<size_t>(dataset.size(Split::test));
    order.resize(tests);
    for (size_t i = 0; i < tests; ++i) order[i] = static_cast<int64_t>(i);
    counter.add(Split::test,
                std::vector<double>(tests, once ? 1.0 : static_cast<double>(passes.evaluations)),
                order);
  }
  return uses;
}

}  // namespace stoker
