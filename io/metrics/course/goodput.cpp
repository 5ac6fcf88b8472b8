#include "io/metrics/course/goodput.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stoker {
namespace {

// What a step consists of.
constexpr std::array kWork{GoodputPart::effective, GoodputPart::data_wait,
                           GoodputPart::checkpoint_stall, GoodputPart::evaluation};
// A process is said to begin up to a hundredth of a second too early.
constexpr double kGranularity = 0.1;

double& of(GoodputParts& parts, GoodputPart part) { return parts[static_cast<size_t>(part)]; }

double sum(const std::array<double, kGoodputParts>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

}  // namespace

const char* goodput_part_name(GoodputPart part) {
  constexpr std::array<const char*, kGoodputParts> kNames{
      "effective", "data_wait", "checkpoint_stall", "evaluation", "start",
      "lost",      "end",       "paused",           "down"};
  return kNames[static_cast<size_t>(part)];
}

double passed_s(const Moment& before, const Moment& after) {
  const double by_boot = after.boot_s - before.boot_s;
  // Two time namespaces may have the same start and clocks apart.
  if (before.boot == after.boot && by_boot >= -kGranularity) return std::max(0.0, by_boot);
  return std::max(0.0, after.unix_s - before.unix_s);
}

double Goodput::closure_error() const {
  const double wall = wall_s();
  return wall > 0 ? std::abs(sum(parts_s) - wall) / wall : 0;
}

Goodput taken_up(Goodput last, const Moment& begin) {
  const double wall = last.wall_s();
  double gap = passed_s(last.at, begin);
  if (last.end == ProcessEnd::completed) {
    gap = 0;
  } else {
    if (last.recovering) {
      last.recovering->last_step = std::max(last.recovering->last_step, last.steps);
    } else {
      last.recovering = Goodput::Recovery{wall, last.steps};
    }
    ++last.interruptions;
  }
  of(last.parts_s, GoodputPart::down) += gap;
  last.at = begin;
  last.begun_boot_s = begin.boot_s - (wall + gap);
  ++last.processes;
  last.time_to_start_s.reset();
  return last;
}

Goodput gone_on_from(Goodput record, const Goodput* saved, int64_t step) {
  const int64_t lost = std::max<int64_t>(0, record.steps - step);
  // A process that ended by itself after its last save was within no step.
  if (record.in_loop || lost > 0) {
    for (const GoodputPart part : kWork) {
      const double kept = saved == nullptr ? 0 : saved->part(part);
      of(record.parts_s, GoodputPart::lost) += record.part(part) - kept;
      of(record.parts_s, part) = kept;
    }
  }
  record.lost_steps += lost;
  record.steps = step;
  record.in_loop = false;
  return record;
}

GoodputParts parts_of(const ProcessCourse& course) {
  const auto in = [](const ProcessCourse::Segments& segments, Segment segment) {
    return segments[static_cast<size_t>(segment)];
  };
  const auto& all = course.segments;
  const auto& first = course.before_first;
  const auto off_start = [&](const ProcessCourse::Segments& segments) {
    return in(segments, Segment::paused) + in(segments, Segment::eval) +
           in(segments, Segment::checkpoint_stall);
  };
  GoodputParts parts{};
  const double loop = course.loop_s.value_or(course.age_s);
  const double loop_end = course.over_s ? loop + *course.over_s : course.age_s;
  of(parts, GoodputPart::paused) = in(all, Segment::paused) + course.slept_s;
  of(parts, GoodputPart::evaluation) = in(all, Segment::eval);
  of(parts, GoodputPart::checkpoint_stall) = in(all, Segment::checkpoint_stall);
  of(parts, GoodputPart::end) = course.age_s - loop_end;
  if (!course.first_batch_s) {
    of(parts, GoodputPart::start) = loop_end - off_start(all);
    return parts;
  }
  of(parts, GoodputPart::start) = *course.first_batch_s - off_start(first);
  of(parts, GoodputPart::data_wait) = in(all, Segment::data_wait) - in(first, Segment::data_wait);
  of(parts, GoodputPart::effective) = loop_end - *course.first_batch_s - off_start(all) +
                                      off_start(first) -
                                      parts[static_cast<size_t>(GoodputPart::data_wait)];
  return parts;
}

Goodput at_moment(Goodput before, const ProcessCourse& course, const Moment& at, int64_t steps) {
  const GoodputParts parts = parts_of(course);
  for (size_t i = 0; i < kGoodputParts; ++i) before.parts_s[i] += parts[i];
  before.at = at;
  before.steps = steps;
  before.time_to_start_s = course.first_batch_s;
  before.end = ProcessEnd::none;
  if (course.loop_s) before.in_loop = true;
  return before;
}

bool recovered(Goodput& record, int64_t step, double wall_s) {
  if (!record.recovering || step <= record.recovering->last_step) return false;
  record.newest_recovery_s = wall_s - record.recovering->since_s;
  record.recovered_s += *record.newest_recovery_s;
  ++record.recoveries;
  record.recovering.reset();
  return true;
}

}  // namespace stoker
