#include <algorithm>

#include "io/metrics/unix_time.h"
#include "io/sinks/timeline.h"

namespace stoker {
namespace {

using Fields = std::vector<TimelineField>;

std::optional<double> per(double amount, double whole) {
  if (whole <= 0) return std::nullopt;
  return amount / whole;
}

double difference(uint64_t from, uint64_t to) {
  return to >= from ? static_cast<double>(to - from) : 0;
}

double megabytes(uint64_t from, uint64_t to) { return 1e-6 * difference(from, to); }

void add_cpu(Fields& out, const TimelineMoment& from, const TimelineMoment& to, double window) {
  std::optional<double> cores;
  if (from.process.cpu_seconds && to.process.cpu_seconds) {
    cores = per(*to.process.cpu_seconds - *from.process.cpu_seconds, window);
  }
  out.push_back({"cpu_cores", cores});
  std::optional<double> busy;
  if (from.system.cpu && to.system.cpu) {
    double all = 0;
    double idle = 0;
    for (size_t i = 0; i < kCpuModes.size(); ++i) {
      const double part = std::max(0.0, (*to.system.cpu)[i] - (*from.system.cpu)[i]);
      const std::string mode = kCpuModes[i];
      all += part;
      if (mode == "idle" || mode == "iowait") idle += part;
    }
    busy = per(all - idle, all);
  }
  out.push_back({"system_cpu_busy", busy});
}

void add_block_layer(Fields& out, const TimelineMoment& from, const TimelineMoment& to,
                     double window) {
  std::optional<double> read;
  std::optional<double> written;
  if (from.process.io && to.process.io) {
    read = per(megabytes(from.process.io->read_bytes, to.process.io->read_bytes), window);
    written = per(megabytes(from.process.io->write_bytes, to.process.io->write_bytes), window);
  }
  out.push_back({"block_read_mb_per_s", read});
  out.push_back({"block_write_mb_per_s", written});
  const std::vector<DiskStats>& before = from.system.disks;
  const std::vector<DiskStats>& after = to.system.disks;
  read = written = std::nullopt;
  if (!after.empty() && before.size() == after.size()) {
    double sums[2] = {};
    for (size_t i = 0; i < after.size(); ++i) {
      sums[0] += megabytes(before[i].read_bytes, after[i].read_bytes);
      sums[1] += megabytes(before[i].written_bytes, after[i].written_bytes);
    }
    read = per(sums[0], window);
    written = per(sums[1], window);
  }
  out.push_back({"disk_read_mb_per_s", read});
  out.push_back({"disk_write_mb_per_s", written});
}

void add_device(Fields& out, const DeviceTime& from, const DeviceTime& to) {
  const double observed = to.observed - from.observed;
  out.push_back({"device_observed_s", observed});
  out.push_back({"device_busy", per(to.busy - from.busy, observed)});
  for (size_t i = 0; i < kIdleCauses; ++i) {
    out.push_back({std::string("idle_") + idle_cause_name(static_cast<IdleCause>(i)),
                   per(to.idle[i] - from.idle[i], observed)});
  }
}

bool in_loop(const RunMeter::State& run) {
  return run.phase == RunPhase::train || run.phase == RunPhase::eval;
}

// The ledger of the finished steps, and what passed since under what the trainer does now.
std::array<double, kSegments> segments_until(const TimelineMoment& moment, TimePoint loop_begin) {
  std::array<double, kSegments> result = moment.run.totals.segments;
  if (in_loop(moment.run)) {
    const double since = seconds(moment.at - loop_begin) - moment.run.totals.wall_s;
    result[static_cast<size_t>(moment.run.segment)] += std::max(0.0, since);
  }
  return result;
}

void add_trainer(Fields& out, const TimelineMoment& from, const TimelineMoment& to) {
  const TimePoint begin = *to.run.loop_begin;
  const auto before = segments_until(from, begin);
  const auto after = segments_until(to, begin);
  std::array<double, kSegments> parts{};
  double sum = 0;
  for (size_t i = 0; i < kSegments; ++i) {
    parts[i] = std::max(0.0, after[i] - before[i]);
    sum += parts[i];
  }
  if (!in_loop(from.run) && !in_loop(to.run)) sum = 0;
  for (size_t i = 0; i < kSegments; ++i) {
    out.push_back({segment_name(static_cast<Segment>(i)), per(parts[i], sum)});
  }
}

void add_tier(Fields& out, const TierMeter::State& from, const TierMeter::State& to,
              double window) {
  std::string name = to.name;
  std::ranges::replace_if(
      name, [](char c) { return c == ',' || c == '"' || c < ' '; }, '_');
  for (const TierOp op : {TierOp::read, TierOp::write}) {
    const Tally::Totals& before = from.ops[static_cast<size_t>(op)];
    const Tally::Totals& after = to.ops[static_cast<size_t>(op)];
    out.push_back({name + "." + to_string(op) + "_mb_per_s",
                   per(megabytes(before.bytes, after.bytes), window)});
    out.push_back({name + "." + to_string(op) + "s_per_s",
                   per(static_cast<double>(after.count - before.count), window)});
  }
}

}  // namespace

TimelineMoment look_at(Hub& hub) {
  TimelineMoment moment;
  moment.run = hub.run().state();
  moment.at = Clock::now();
  moment.unix_s = unix_now();
  moment.tiers = hub.tiers();
  moment.process = read_process_stats();
  moment.system = read_system_stats(moment.run.info.paths);
  moment.queue_fill = hub.train_loader().queue_fill();
  for (size_t i = 0; i < kCheckpointParts; ++i) {
    moment.under_way[i] = hub.checkpoints().under_way(static_cast<CheckpointPart>(i));
  }
  return moment;
}

std::vector<TimelineField> timeline_row(const TimelineMoment& from, const TimelineMoment& to) {
  const TimePoint loop_begin = *to.run.loop_begin;
  const double window = seconds(to.at - std::max(from.at, loop_begin));
  const auto under_way = [&](CheckpointPart part) -> std::optional<double> {
    return to.under_way[static_cast<size_t>(part)];
  };
  Fields out{{"t_s", seconds(to.at - loop_begin)}, {"unix_s", to.unix_s}};
  out.push_back({"images_per_s",
                 per(static_cast<double>(to.run.totals.images - from.run.totals.images), window)});
  add_device(out, from.run.totals.device, to.run.totals.device);
  out.push_back({"queue_fill", to.queue_fill});
  out.push_back(
      {"saving", *under_way(CheckpointPart::snapshot) + *under_way(CheckpointPart::write)});
  out.push_back({"draining", under_way(CheckpointPart::drain)});
  add_cpu(out, from, to, window);
  add_block_layer(out, from, to, window);
  add_trainer(out, from, to);
  for (size_t i = 0; i < to.tiers.size() && i < from.tiers.size(); ++i) {
    add_tier(out, from.tiers[i], to.tiers[i], window);
  }
  return out;
}

}  // namespace stoker
