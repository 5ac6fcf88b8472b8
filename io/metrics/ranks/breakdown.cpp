#include "io/metrics/ranks/breakdown.h"

#include <algorithm>
#include <numeric>

namespace stoker {
namespace {

// The times of the loader's threads. These also wait and do other work, which is in neither of the
// two.
struct LoaderWork {
  double read = 0;
  double transform = 0;
};

LoaderWork work_of(const LoaderMeter::State& loader) {
  const double read =
      loader.record_reads ? loader.record_reads->wall_s : loader.of(Stage::read).seconds();
  return {read, loader.of(Stage::decode).seconds()};
}

double time_in(const RunTotals& totals, Segment segment) {
  return totals.segments[static_cast<size_t>(segment)];
}

// What the trainer waited for data, of reading alone; all of it where nothing is known.
double read_waited_for(const RunTotals& totals, const LoaderWork& work) {
  const double both = work.read + work.transform;
  return time_in(totals, Segment::data_wait) * (both > 0 ? work.read / both : 1);
}

}  // namespace

const char* time_part_name(TimePart part) {
  constexpr std::array<const char*, kTimeParts> kNames{"read",     "transform", "forward",
                                                       "backward", "compute",   "wait_before_sync",
                                                       "sync",     "update",    "other"};
  return kNames[static_cast<size_t>(part)];
}

Breakdown break_down(const RunTotals& totals, const std::string& timing,
                     const LoaderMeter::State& loader) {
  Breakdown parts{};
  const auto part = [&parts](TimePart of) -> std::optional<double>& {
    return parts[static_cast<size_t>(of)];
  };
  const double exchange = time_in(totals, Segment::allreduce);
  part(TimePart::read) = read_waited_for(totals, work_of(loader));
  part(TimePart::transform) = time_in(totals, Segment::data_wait) - *part(TimePart::read);
  if (timing == "emulated") {
    // The host waits here for the others to submit; the exchange itself is in the step's time.
    part(TimePart::wait_before_sync) = exchange;
    part(TimePart::compute) = time_in(totals, Segment::compute);
  } else if (timing == "host") {
    const double peers = totals.device.idle[static_cast<size_t>(IdleCause::peers)];
    part(TimePart::wait_before_sync) = std::min(exchange, peers);
    part(TimePart::sync) = exchange - *part(TimePart::wait_before_sync);
  } else {
    part(TimePart::compute) = time_in(totals, Segment::compute) + exchange;
  }
  if (timing == "host" && totals.pass) {
    // The exchange begins inside of the backward pass and ends with it.
    part(TimePart::forward) = totals.pass->forward_s;
    part(TimePart::backward) = std::max(0.0, totals.pass->backward_s - exchange);
    part(TimePart::update) = totals.pass->update_s;
  } else if (timing == "host") {
    part(TimePart::compute) = time_in(totals, Segment::compute);
  }
  double rest = std::accumulate(totals.segments.begin(), totals.segments.end(), 0.0);
  for (const std::optional<double>& known : parts) rest -= known.value_or(0);
  part(TimePart::other) = std::max(0.0, rest);
  return parts;
}

Breakdown hidden_time(const RunTotals& totals, const LoaderMeter::State& loader) {
  const LoaderWork work = work_of(loader);
  const double read = read_waited_for(totals, work);
  Breakdown parts{};
  parts[static_cast<size_t>(TimePart::read)] = std::max(0.0, work.read - read);
  parts[static_cast<size_t>(TimePart::transform)] =
      std::max(0.0, work.transform - (time_in(totals, Segment::data_wait) - read));
  return parts;
}

}  // namespace stoker
