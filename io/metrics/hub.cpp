#include "io/metrics/hub.h"

#include <algorithm>
#include <utility>

#include "io/core/error.h"
#include "io/metrics/io_sessions.h"
#include "io/metrics/record/run_record.h"
#include "io/metrics/sink.h"

namespace stoker {
namespace {

// Seconds that one `action` takes: the best of several rounds, as a lost time slice is not its
// cost.
template <class F>
double cost_of(F action) {
  constexpr int kRounds = 8, kActions = 256;
  Clock::duration best = Clock::duration::max();
  for (int round = 0; round < kRounds; ++round) {
    const TimePoint begin = Clock::now();
    for (int i = 0; i < kActions; ++i) action(i);
    best = std::min(best, Clock::now() - begin);
  }
  return seconds(best) / kActions;
}

}  // namespace

const char* to_string(Overhead part) {
  constexpr std::array<const char*, kOverheads> kNames{"spans", "step", "sinks", "scrape"};
  return kNames[static_cast<size_t>(part)];
}

Hub::Hub() {
  ThreadSlots<Tally> tallies;
  tally_s_ = cost_of([&](int i) { tallies.here().add(std::chrono::microseconds(i), 1); });
  TimePoint last;
  clock_s_ = cost_of([&](int) { last = std::max(last, Clock::now()); });
}

TierMeter& Hub::add_tier(const std::string& name, const std::string& type, bool emulated) {
  const std::lock_guard lock(mutex_);
  return tiers_.emplace_back(name, type, emulated, tracer_);
}

std::vector<TierMeter::State> Hub::tiers() const {
  const std::lock_guard lock(mutex_);
  std::vector<TierMeter::State> result;
  for (const TierMeter& tier : tiers_) result.push_back(tier.state());
  return result;
}

RunRecord Hub::step_record() const {
  RunRecord record;
  record.run = run_.state();
  record.at = Clock::now();
  record.unix_s = unix_now();
  if (record.run.loop_begin) {
    record.elapsed_s =
        seconds(std::min(record.at, record.run.ended.value_or(record.at)) - *record.run.loop_begin);
  }
  record.checkpoints = checkpoints_.state();
  record.queue_fill = train_.queue_fill();
  return record;
}

namespace {

// As they were when the loop ended, but for the reads of tiers that are written.
void end_reads(std::vector<TierMeter::State>& tiers, const std::vector<TierMeter::State>& at_end) {
  const auto written = [](const TierMeter::State& tier) {
    return tier.ops[static_cast<size_t>(TierOp::write)].count > 0;
  };
  const auto cache_of = [&](const TierMeter::State& tier) {
    return std::ranges::find(tiers, tier.name + ".in", &TierMeter::State::name);
  };
  for (size_t i = 0; i < std::min(tiers.size(), at_end.size()); ++i) {
    constexpr auto kRead = static_cast<size_t>(TierOp::read);
    TierMeter::State& tier = tiers[i];
    // What a cache says of itself goes with the reads of the tier that it is kept in.
    if (const auto in = cache_of(tier); tier.cache && (in == tiers.end() || !written(*in))) {
      tier.cache->hits = at_end[i].cache->hits;
      tier.cache->misses = at_end[i].cache->misses;
    }
    if (written(tier)) continue;
    tier.ops[kRead] = at_end[i].ops[kRead];
    tier.moved[0] = at_end[i].moved[0];
  }
}

}  // namespace

void Hub::end_loop(const std::optional<Spread>& rates) {
  run_.end_loop(rates);
  AtEnd now{{train_.state(), test_.state()}, tiers(), overhead_s()};
  const std::lock_guard lock(mutex_);
  at_end_ = std::move(now);
}

RunRecord Hub::record() const {
  RunRecord record = step_record();
  record.loaders = {train_.state(), test_.state()};
  record.tiers = tiers();
  record.overhead_s = overhead_s();
  if (const std::lock_guard lock(mutex_); at_end_) {
    record.loaders = at_end_->loaders;
    record.overhead_s = at_end_->overhead_s;
    end_reads(record.tiers, at_end_->tiers);
  }
  record.trace_events = tracer_.recorded();
  record.trace_dropped = tracer_.dropped();
  record.machine = read_machine(record.run.info.disks);
  if (record.run.loop_begin) {
    const bool over = record.run.at_end.has_value();
    record.use = {record.run.at_begin, over ? *record.run.at_end : record.machine,
                  over ? record.run.totals.wall_s : record.elapsed_s};
  }
  return record;
}

void Hub::add_overhead(Overhead part, Clock::duration took) {
  overhead_ns_[static_cast<size_t>(part)] +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
}

std::array<double, kOverheads> Hub::overhead_s() const {
  std::array<double, kOverheads> result{};
  for (size_t i = 0; i < kOverheads; ++i) {
    result[i] = 1e-9 * static_cast<double>(overhead_ns_[i].load());
  }
  const int64_t stages = train_.spans() + test_.spans();
  int64_t operations = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const TierMeter& tier : tiers_) operations += tier.spans();
  }
  // A stage begins with the reading that ended the one before.
  result[static_cast<size_t>(Overhead::spans)] +=
      static_cast<double>(operations) * (2 * clock_s_ + tally_s_) +
      static_cast<double>(stages) * (clock_s_ + tally_s_);
  return result;
}

std::unique_ptr<IoSessionFeed::Subscription> IoSessionFeed::subscribe(Consumer consumer) {
  std::unique_ptr<Subscription> made(new Subscription(*this, std::move(consumer)));
  const std::lock_guard lock(calls_);
  subscriptions_.push_back(made.get());
  return made;
}

IoSessionFeed::Subscription::~Subscription() {
  const std::lock_guard lock(feed_.calls_);
  std::erase(feed_.subscriptions_, this);
}

void IoSessionFeed::ended(const IoSessionReport& report) {
  const std::lock_guard calls(calls_);
  for (const Subscription* const one : subscriptions_) one->consumer_(report);
  const std::lock_guard lock(mutex_);
  newest_ = report.json;
}

std::string IoSessionFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

template <>
Registry<IoSessions>& Registry<IoSessions>::global() {
  static Registry<IoSessions> registry;
  return registry;
}

std::unique_ptr<IoSessions> new_io_sessions(const IoSessions::Inputs& inputs) {
  try {
    (void)Registry<IoSessions>::global().need("profiler");
  } catch (const Error& error) {
    throw Error(ExitCode::environment, error.what());  // no configuration names it
  }
  return default_component<IoSessions>("profiler").create(inputs);
}

template <>
Registry<MetricsSink>& Registry<MetricsSink>::global() {
  static Registry registry;
  return registry;
}

}  // namespace stoker
