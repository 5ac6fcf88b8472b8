#include "io/metrics/loader_meter.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "io/metrics/machine/process_stats.h"

namespace stoker {

const char* stage_name(Stage stage) {
  constexpr std::array<const char*, kStages> kNames{"read", "decode", "digest", "copy", "wait"};
  return kNames[static_cast<size_t>(stage)];
}

void LoaderMeter::finished(Stage stage, TimePoint begin, TimePoint end, uint64_t bytes) {
  tallies_.here().stages[static_cast<size_t>(stage)].add(end - begin, bytes);
  tracer_.record({stage_name(stage), "loader", begin, end, bytes});
}

void LoaderMeter::finished(Stage stage, TimePoint begin, TimePoint end, uint64_t bytes,
                           SampleId sample) {
  finished(stage, begin, end, bytes);
  tallies_.here().slow[stage == Stage::decode].add(end - begin, bytes, sample);
}

std::vector<SlowSample> LoaderMeter::slowest(Stage stage) const {
  std::vector<SlowSample> all;
  tallies_.each(
      [&](const Tallies& tallies) { tallies.slow[stage == Stage::decode].append_to(all); });
  return slowest_of(std::move(all));
}

void LoaderMeter::failed(const char* reason) {
  const std::lock_guard lock(mutex_);
  ++state_.errors[reason];
}

void LoaderMeter::skipped(const char* reason) {
  const std::lock_guard lock(mutex_);
  ++state_.skipped[reason];
}

void LoaderMeter::tolerated() {
  const std::lock_guard lock(mutex_);
  ++state_.tolerated;
}

LoaderMeter::Worker::Worker(LoaderMeter& meter) : meter_(meter) {
  const std::optional<uint64_t> before = thread_read_bytes(::gettid());
  const std::lock_guard lock(meter_.mutex_);
  if (!before) meter_.storage_known_ = false;
  meter_.readers_[::gettid()] = before.value_or(0);
}

LoaderMeter::Worker::~Worker() {
  set_busy(false);
  const std::optional<uint64_t> now = thread_read_bytes(::gettid());
  const std::lock_guard lock(meter_.mutex_);
  const auto reader = meter_.readers_.find(::gettid());
  if (reader == meter_.readers_.end()) return;
  if (now) meter_.ended_readers_bytes_ += *now - reader->second;
  meter_.readers_.erase(reader);
}

void LoaderMeter::Worker::set_busy(bool busy) {
  if (busy != busy_) meter_.busy_.fetch_add(busy ? 1 : -1, std::memory_order_relaxed);
  busy_ = busy;
}

std::shared_ptr<QueueMeter> LoaderMeter::add_queue(const std::string& name, int64_t capacity) {
  auto queue = std::make_shared<QueueMeter>(name, capacity);
  const std::lock_guard lock(mutex_);
  queues_[name] = queue;
  return queue;
}

std::optional<double> LoaderMeter::queue_fill() const {
  const std::lock_guard lock(mutex_);
  // "device" stands before "ready", and behind it on the way to the trainer.
  for (const auto& [name, weak] : queues_) {
    if (const auto queue = weak.lock()) return queue->fill();
  }
  return std::nullopt;
}

int64_t LoaderMeter::spans() const {
  int64_t spans = 0;
  tallies_.each([&spans](const Tallies& tallies) {
    for (const Tally& stage : tallies.stages) spans += stage.count();
  });
  return spans;
}

LoaderMeter::State LoaderMeter::state() const {
  const std::lock_guard lock(mutex_);
  State result = state_;
  result.record_reads = record_reads_.costs();
  result.busy = busy_.load(std::memory_order_relaxed);
  tallies_.each([&result](const Tallies& tallies) {
    for (size_t i = 0; i < kStages; ++i) result.stages[i] += tallies.stages[i].totals();
  });
  result.workers = static_cast<int64_t>(readers_.size());
  for (const auto& [name, weak] : queues_) {
    if (const auto queue = weak.lock()) result.queues.push_back(queue->state());
  }
  if (!storage_known_) return result;
  uint64_t bytes = ended_readers_bytes_;
  for (const auto& [thread, before] : readers_) {
    bytes += thread_read_bytes(thread).value_or(before) - before;
  }
  result.storage_bytes = bytes;
  return result;
}

void SlowSamples::keep(const SlowSample& sample) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(sample);
  kept_ = slowest_of(std::move(kept_));
  if (kept_.size() < kKept) return;
  const std::chrono::duration<double> least(kept_.back().seconds);
  least_.store(std::chrono::duration_cast<Clock::duration>(least), std::memory_order_relaxed);
}

void SlowSamples::append_to(std::vector<SlowSample>& all) const {
  const std::lock_guard lock(mutex_);
  all.insert(all.end(), kept_.begin(), kept_.end());
}

std::vector<SlowSample> slowest_of(std::vector<SlowSample> all) {
  std::ranges::stable_sort(all, std::ranges::greater{}, &SlowSample::seconds);
  if (all.size() > SlowSamples::kKept) all.resize(SlowSamples::kKept);
  return all;
}

}  // namespace stoker
