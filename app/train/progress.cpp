// Two clocks meet here. The trainer's thread knows at once which segment it is in. The device
// reports when it was busy only after it has finished a step, which may be several steps later.
// Both kinds of intervals go to IdleAttribution, which waits for the later of them and then says
// why the device was idle. So the totals in the hub may lag behind by the steps under way.

#include "app/train/progress.h"

#include <utility>

#include "io/metrics/hub.h"

namespace stoker {
namespace {

constexpr auto kRateWindow = std::chrono::seconds(1);

}  // namespace

Progress::Progress(Device& device, StepLedger& ledger, Hub& hub, RunSinks& sinks, int64_t steps,
                   int64_t epochs, bool many)
    : device_(device),
      ledger_(ledger),
      hub_(hub),
      idle_(ledger.begun(), many),
      sinks_(sinks),
      first_step_(steps),
      rates_(ledger.begun(), kRateWindow),
      reported_(hub.step_record()) {
  totals_.steps = steps;
  totals_.epochs = epochs;
}

void Progress::collect(bool wait) {
  const std::vector<BusyInterval> steps = device_.collect(wait);
  Tracer& tracer = hub_.tracer();
  take_segments();  // before the steps, because a step's gap is explained by segments before it
  for (const BusyInterval& step : steps) {
    idle_.add_step(step);
    tracer.record("device", {"step", "device", step.start, step.end});
    // Drawn at the step's begin: it is known how long the device waited in all, and not when.
    if (step.starved > Clock::duration::zero()) {
      tracer.record("device", {"starved", "device", step.start, step.start + step.starved});
    }
  }
}

void Progress::take_segments() {
  for (const SegmentInterval& interval : ledger_.take_intervals()) {
    idle_.add_segment(interval);
    hub_.tracer().record({segment_name(interval.segment), "trainer", interval.begin, interval.end,
                          0, totals_.steps});
  }
}

void Progress::add_step(int64_t images, int64_t epoch) {
  const MeasuringScope scope(hub_, Overhead::step);
  ++totals_.steps;
  totals_.epoch = epoch;
  totals_.images += images;
  rates_.add(Clock::now(), images);
  collect(false);
  publish();
  hub_.tracer().at_step(totals_.steps - first_step_);
}

void Progress::publish() {
  totals_.wall_s = ledger_.wall();
  totals_.segments = ledger_.totals();
  totals_.device = idle_.total();
  totals_.au = idle_.au();
  totals_.closure_error = ledger_.closure_error();
  hub_.run().publish(totals_, hub_.train_loader().queue_fill());
}

void Progress::report(std::optional<double> loss, double learning_rate) {
  const MeasuringScope scope(hub_, Overhead::sinks);
  if (loss) hub_.run().set_loss(*loss, learning_rate);
  // A window is what lies between two records, so no sink has to count.
  RunRecord now = hub_.step_record();
  const RunRecord window = between(reported_, now);
  sinks_.write(now, window);
  reported_ = std::move(now);
}

void Progress::finish() {
  take_segments();
  idle_.settle();
  std::optional<Spread> rates;
  if (!rates_.rates().empty()) rates = spread(rates_.rates());
  hub_.end_loop(rates);
  publish();
}

}  // namespace stoker
