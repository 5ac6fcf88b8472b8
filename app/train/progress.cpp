#include "app/train/progress.h"

#include <algorithm>
#include <utility>

#include "io/metrics/hub.h"

namespace stoker {
namespace {

constexpr auto kRateWindow = std::chrono::seconds(1);

double idle_sum(const DeviceTime& time) {
  double sum = 0;
  for (const double idle : time.idle) sum += idle;
  return sum;
}

}  // namespace

Progress::Progress(Device& device, StepLedger& ledger, Hub& hub,
                   const std::vector<std::unique_ptr<MetricsSink>>& sinks, int64_t first_step,
                   int64_t steps_planned)
    : device_(device),
      ledger_(ledger),
      hub_(hub),
      idle_(ledger.begun()),
      sinks_(sinks),
      first_step_(first_step),
      steps_planned_(steps_planned),
      steps_(first_step),
      rates_(ledger.begun(), kRateWindow) {
  window_.step = first_step;
}

void Progress::collect(bool wait) {
  const std::vector<BusyInterval> steps = device_.collect(wait);
  Tracer& tracer = hub_.tracer();
  take_segments();
  for (const BusyInterval& step : steps) {
    idle_.add_step(step);
    tracer.record("device", {"step", "device", step.start, step.end});
  }
}

void Progress::take_segments() {
  for (const SegmentInterval& interval : ledger_.take_intervals()) {
    idle_.add_segment(interval);
    hub_.tracer().record(
        {segment_name(interval.segment), "trainer", interval.begin, interval.end, 0, steps_});
  }
}

void Progress::add_step(int64_t images, int64_t epoch) {
  const MeasuringScope scope(hub_, Overhead::step);
  ++steps_;
  epoch_ = epoch;
  images_ += images;
  rates_.add(Clock::now(), images);
  collect(false);
  publish();
  hub_.tracer().at_step(steps_ - first_step_);
}

void Progress::publish() {
  RunTotals totals;
  totals.step = steps_;
  totals.epoch = epoch_;
  totals.epochs = epochs_;
  totals.steps = steps_ - first_step_;
  totals.images = images_;
  totals.wall_s = ledger_.wall();
  totals.segments = ledger_.totals();
  totals.device = idle_.total();
  totals.au = idle_.au();
  if (!ledger_.running()) totals.closure_error = ledger_.closure_error();
  hub_.run().publish(totals, hub_.train_loader().queue_fill());
}

void Progress::report(std::optional<double> loss, double learning_rate,
                      std::optional<CheckpointReport> checkpoints) {
  StepReport report;
  report.checkpoints = checkpoints;
  report.step = steps_;
  report.steps_planned = steps_planned_;
  report.epoch = epoch_;
  report.images = images_;
  report.loss = loss;
  report.learning_rate = learning_rate;
  report.wall_s = ledger_.wall();
  report.window_s = report.wall_s - window_.wall_s;
  report.images_per_s = static_cast<double>(images_ - window_.images) / report.window_s;
  double sum = 0;
  for (size_t i = 0; i < kSegments; ++i) {
    const double time = ledger_.totals()[i] - window_.segments[i];
    report.segments.emplace_back(segment_name(static_cast<Segment>(i)), time);
    sum += time;
  }
  if (sum > 0) report.io_share = report.segments[0].second / sum;
  const DeviceTime& device = idle_.total();
  const double observed = device.observed - window_.device.observed;
  if (observed > 0) {
    report.device_idle = (idle_sum(device) - idle_sum(window_.device)) / observed;
    for (size_t i = 0; i < kIdleCauses; ++i) {
      report.idle_by_cause.emplace_back(idle_cause_name(static_cast<IdleCause>(i)),
                                        (device.idle[i] - window_.device.idle[i]) / observed);
    }
  }
  if (evaluated_) {
    report.top1 = evaluated_->top1;
    report.top5 = evaluated_->top5;
    evaluated_.reset();
  }
  if (loss) hub_.run().set_loss(*loss, learning_rate);
  report.eta_s = report.window_s * static_cast<double>(steps_planned_ - steps_) /
                 static_cast<double>(std::max<int64_t>(1, steps_ - window_.step));
  const MeasuringScope scope(hub_, Overhead::sinks);
  for (const auto& sink : sinks_) sink->write(report);
  window_ = {report.wall_s, steps_, images_, ledger_.totals(), device};
}

void Progress::finish(TrainingResult& result) {
  take_segments();
  result.cpu = cpu_.use();
  result.wall_s = ledger_.wall();
  result.closure_error = ledger_.closure_error();
  for (size_t i = 0; i < kSegments; ++i) {
    result.segments.emplace_back(segment_name(static_cast<Segment>(i)), ledger_.totals()[i]);
  }
  if (result.wall_s > 0) result.io_share = ledger_.totals()[0] / result.wall_s;
  const DeviceTime& device = idle_.total();
  result.device_observed_s = device.observed;
  result.device_busy_s = device.busy;
  result.device_copy_s = device.copy;
  for (size_t i = 0; i < kIdleCauses; ++i) {
    result.device_idle.emplace_back(idle_cause_name(static_cast<IdleCause>(i)), device.idle[i]);
  }
  result.au = idle_.au();
  result.images = images_;
  result.window_rates = rates_.rates();
  publish();
}

}  // namespace stoker
