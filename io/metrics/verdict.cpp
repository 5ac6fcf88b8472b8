#include "io/metrics/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stoker {
namespace {

// Shares of the bytes that were asked for. A run is warm if block devices delivered less than the
// first, and cold if they delivered more than the second.
constexpr double kWarmFetched = 0.05;
constexpr double kColdFetched = 0.90;
constexpr double kBusyWorkers = 0.80;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Which stage of the loader to blame, and why.
std::string blame(const RunMeter::State& run, const LoaderMeter::State& loader) {
  const double read = loader.of(Stage::read).seconds();
  const double decode = loader.of(Stage::decode).seconds();
  const double waiting = loader.of(Stage::wait).seconds();
  if (read + decode <= 0) return "";
  const char* stage = read > decode ? "reading" : "decoding";
  std::string text = fmt::format("{:.0f} % of the loader's work is {}",
                                 100 * std::max(read, decode) / (read + decode), stage);
  const double busy = share(read + decode, read + decode + waiting);
  if (!run.info.loads_ahead) {
    return text + ", and loader " + run.info.loader +
           " does none of it ahead: choose loader.type=prefetched";
  }
  if (busy < kBusyWorkers) {
    return text + fmt::format(
                      ", yet its {} workers wait {:.0f} % of their time: look ahead farther "
                      "(loader.prefetch_batches)",
                      loader.workers, 100 * (1 - busy));
  }
  return text + fmt::format(", and its {} workers are busy: {}", loader.workers,
                            read > decode ? "a faster tier, or more workers"
                                          : "more workers, or smaller images");
}

std::vector<std::string> evidence_of(const RunMeter::State& run, const LoaderMeter::State& loader) {
  std::vector<std::string> result;
  const DeviceTime& device = run.totals.device;
  for (size_t i = 0; i < kIdleCauses; ++i) {
    if (device.idle[i] < 0.001 * device.observed) continue;
    result.push_back(fmt::format("device idle because of {}: {:.1f} %",
                                 idle_cause_name(static_cast<IdleCause>(i)),
                                 100 * device.idle[i] / device.observed));
  }
  const double wait = run.totals.segments[static_cast<size_t>(Segment::data_wait)];
  result.push_back(fmt::format("trainer waiting for data (I/O share): {:.1f} %",
                               100 * share(wait, run.totals.wall_s)));
  const double paused = run.totals.segments[static_cast<size_t>(Segment::paused)];
  if (paused > 0) {
    result.push_back(fmt::format(
        "the process stood still for {:.1f} s (stopped, frozen or without a processor), which is "
        "no part of the device's time",
        paused));
  }
  for (const QueueMeter::State& queue : loader.queues) {
    result.push_back(fmt::format("queue '{}' empty {:.0f} %, full {:.0f} % of the time", queue.name,
                                 100 * share(queue.empty_s, queue.observed_s),
                                 100 * share(queue.full_s, queue.observed_s)));
  }
  return result;
}

// "Rank 2 holds the others up, by its data: ..."; empty: no rank does.
std::string straggler_text(const std::vector<RankTimes>& ranks) {
  const std::optional<Straggler> straggler = find_straggler(ranks);
  if (!straggler) return "";
  return fmt::format(
      "Rank {} holds the others up, by its {}: {:.2f} s more than theirs, which cost them {:.0f} % "
      "of their time",
      straggler->rank, straggler->cause, straggler->excess_s, 100 * straggler->share);
}

struct Loss {
  IdleCause cause;
  Verdict::Level level;
  const char* what;
};
constexpr Loss kLosses[] = {
    {IdleCause::data, Verdict::Level::input_bound, "late data"},
    {IdleCause::h2d, Verdict::Level::input_bound, "copies to it"},
    {IdleCause::checkpoint, Verdict::Level::checkpoint_bound, "checkpoints"},
    {IdleCause::peers, Verdict::Level::peers_bound, "waiting for other ranks"},
    {IdleCause::host, Verdict::Level::host_bound,
     "the host's other work (evaluation, reports, launching)"},
};

}  // namespace

const char* to_string(Verdict::Level level) {
  constexpr std::array<const char*, 9> kNames{"unknown",     "fine",       "moderate",
                                              "input_bound", "host_bound", "checkpoint_bound",
                                              "peers_bound", "stalled",    "failed"};
  return kNames[static_cast<size_t>(level)];
}

const char* to_string(CacheVerdict::Level level) {
  constexpr std::array<const char*, 4> kNames{"unknown", "cold", "mixed", "warm"};
  return kNames[static_cast<size_t>(level)];
}

bool makes_progress(const RunMeter::State& run, double stalled_after_s) {
  const bool working = run.phase == RunPhase::train || run.phase == RunPhase::eval;
  return !working || run.stalled_s <= stalled_after_s;
}

Verdict judge(const RunRecord& record, double stalled_after_s) {
  const RunMeter::State& run = record.run;
  const LoaderMeter::State& loader = record.loaders.front();
  Verdict verdict;
  if (run.phase == RunPhase::failed) {
    return {Verdict::Level::failed, "The run failed: " + run.error, {}};
  }
  if (!makes_progress(run, stalled_after_s)) {
    verdict = {Verdict::Level::stalled,
               fmt::format("Nothing has moved for {:.0f} s; the trainer is in {}.", run.stalled_s,
                           segment_name(run.doing.segment)),
               {}};
    for (const TierMeter::State& tier : record.tiers) {
      if (tier.in_flight == 0) continue;
      verdict.evidence.push_back(
          fmt::format("{} operations under way on tier '{}'", tier.in_flight, tier.name));
    }
    verdict.evidence.push_back(fmt::format("{} of {} workers busy", loader.busy, loader.workers));
    return verdict;
  }
  const DeviceTime& device = run.totals.device;
  if (device.observed <= 0) return {Verdict::Level::unknown, "No step has finished yet.", {}};
  const Loss* worst = std::begin(kLosses);
  for (const Loss& loss : kLosses) {
    if (device.idle[static_cast<size_t>(loss.cause)] >
        device.idle[static_cast<size_t>(worst->cause)])
      worst = &loss;
  }
  const double lost = device.idle[static_cast<size_t>(worst->cause)] / device.observed;
  verdict.evidence = evidence_of(run, loader);
  const std::string straggler = straggler_text(run.ranks);
  if (!straggler.empty()) verdict.evidence.push_back(straggler);
  if (lost < kModerateShare) {
    verdict.level = Verdict::Level::fine;
    verdict.text = fmt::format("The device is kept busy: no cause takes {:.0f} % of its time.",
                               100 * kModerateShare);
    return verdict;
  }
  verdict.level = lost < kBoundShare ? Verdict::Level::moderate : worst->level;
  verdict.text =
      fmt::format("The device lost {:.0f} % of its time to {}.", 100 * lost, worst->what);
  if (worst->cause == IdleCause::data) {
    const std::string why = blame(run, loader);
    if (!why.empty()) verdict.text += " Of the loader: " + why + ".";
  }
  if (worst->cause == IdleCause::peers && !straggler.empty()) {
    verdict.text += " " + straggler + ".";
    verdict.evidence.pop_back();
  }
  return verdict;
}

std::string missed_page_cache(const CacheEvidence& cache) {
  if (cache.wanted == PageCache::as_is) return "";
  const std::string wanted = fmt::format("run.page_cache is {}, but ", to_string(cache.wanted));
  if (!cache.resident_before) {
    return wanted + "the data lie in no files whose pages can be looked at";
  }
  const double resident = *cache.resident_before;
  if (cache.wanted == PageCache::cold ? is_cold(resident) : is_warm(resident)) return "";
  return wanted + fmt::format(
                      "when the run began the page cache held {:.0f} % of the data ({} "
                      "files looked at)",
                      100 * resident, cache.files_looked_at);
}

CacheVerdict judge_cache(const RunRecord& record) {
  const CacheEvidence& cache = record.run.cache;
  const LoaderMeter::State& loader = record.loaders.front();
  const double asked = static_cast<double>(loader.of(Stage::read).bytes);
  std::string resident;
  if (cache.resident_before) {
    resident = fmt::format(
        "; before the run the page cache held {:.0f} % of the data ({} files looked at)",
        100 * *cache.resident_before, cache.files_looked_at);
  }
  // A page that one rank fetched serves them all: what came for this one says nothing then.
  if (record.run.info.world_size > 1 && cache.resident_before) {
    const double share = *cache.resident_before;
    return {is_cold(share)   ? CacheVerdict::Level::cold
            : is_warm(share) ? CacheVerdict::Level::warm
                             : CacheVerdict::Level::mixed,
            fmt::format("before the run the page cache held {:.0f} % of the data ({} files looked "
                        "at); ranks of a machine share it",
                        100 * share, cache.files_looked_at)};
  }
  if (!loader.storage_bytes || asked <= 0) {
    return {CacheVerdict::Level::unknown, "not known where the data came from" + resident};
  }
  const double fetched = static_cast<double>(*loader.storage_bytes) / asked;
  const std::string figures =
      fmt::format("{:.1f} % of the {:.1f} MB asked for came from block devices{}",
                  100 * std::min(1.0, fetched), 1e-6 * asked, resident);
  if (fetched < kWarmFetched) {
    return {CacheVerdict::Level::warm,
            figures + ": this run does not measure the storage below the page cache"};
  }
  if (fetched < kColdFetched) return {CacheVerdict::Level::mixed, figures};
  return {CacheVerdict::Level::cold, figures};
}

}  // namespace stoker
