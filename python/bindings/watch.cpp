#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/core/text/json.h"
#include "io/experiment/run_plan.h"
#include "io/metrics/hub.h"
#include "io/metrics/idle.h"
#include "io/metrics/record/record_json.h"
#include "io/metrics/sink.h"
#include "io/metrics/spread.h"
#include "python/bindings/configuration.h"
#include "python/bindings/loader.h"
#include "python/bindings/module.h"
#include "python/bindings/process.h"

namespace nb = nanobind;

namespace stoker::python {
namespace {

constexpr auto kRateWindow = std::chrono::seconds(1);

// stoker._core.Watch: measures a training loop of Python's as the trainer measures its own. The
// loop's thread calls wait(), take() and done() for every step, in this order; where the device has
// a clock, stepped() says later what it saw of each. Sinks may look at the hub from threads of
// their own: end() first, then close the loader.
class WatchHandle {
 public:
  // device: what it is called. events: it has a clock, whose zero is now.
  WatchHandle(const LoaderHandle& loader, const std::string& name, const std::string& device,
              bool events, const std::string& directory, nb::list sinks, nb::object log)
      : loader_(loader.opened()),
        hub_(loader_->data->hub()),
        ledger_(hub_.run().segments()),
        events_(events),
        log_(std::move(log)) {
    describe(name, device, directory);
    for (const nb::handle sink : sinks) {
      sinks_.push_back(parse_component<MetricsSink>(configuration(sink))
                           .create({.run_dir = directory,
                                    .log = remarks_.notify(),
                                    .live = false,
                                    .emulated = false,
                                    .hub = hub_}));
    }
    remarks_.tell(log_);
    hub_.run().set_phase(RunPhase::train);
    ledger_.begin();
    idle_.emplace(ledger_.begun());
    rates_.emplace(ledger_.begun(), kRateWindow);
    reported_ = hub_.step_record();
  }

  void wait() { ledger_.switch_to(Segment::data_wait); }
  // A batch has come, or the epoch is over (0 images).
  void take(int64_t images, int64_t epoch) {
    if (images == 0) {
      ledger_.switch_to(Segment::other);
      ++totals_.epochs;
      return;
    }
    if (totals_.steps == 0) hub_.run().set_first_batch(ledger_.wall());
    ledger_.switch_to(Segment::compute);
    begun_.push_back(Clock::now());
    images_ = images;
    totals_.epoch = epoch;
  }
  // The host has done its part of the step.
  void done() {
    const TimePoint now = Clock::now();
    ledger_.switch_to(Segment::other);
    ++totals_.steps;
    totals_.images += images_;
    rates_->add(now, images_);
    take_segments();
    if (!events_) add_step(begun_.back(), now);
    publish();
  }
  // The device's clock when the next step that is not known yet began and ended, in seconds.
  void stepped(double begin, double end) {
    add_step(ledger_.begun() + from_seconds(begin), ledger_.begun() + from_seconds(end));
  }
  // Gives the sinks what passed since the last report.
  void report() {
    RunRecord now = hub_.step_record();
    const RunRecord window = between(reported_, now);
    for (const auto& sink : sinks_) sink->write(now, window);
    reported_ = std::move(now);
    remarks_.tell(log_);
  }
  // error: what went wrong; empty: nothing.
  void end(const std::string& error) {
    ledger_.end();
    take_segments();
    std::optional<Spread> rates;
    if (!rates_->rates().empty()) rates = spread(rates_->rates());
    hub_.end_loop(rates);
    publish();
    hub_.run().end(error.empty() ? RunPhase::completed : RunPhase::failed,
                   error.empty() ? 0 : static_cast<int>(ExitCode::bug), error);
    {
      const Released without;
      for (const auto& sink : sinks_) sink->flush();
      sinks_.clear();
    }
    remarks_.tell(log_);
  }
  // As summary.json has it.
  std::string record() const { return json_text(to_json(hub_.record())); }

 private:
  void describe(const std::string& name, const std::string& device, const std::string& directory) {
    const DataOptions& options = loader_->options;
    const LoaderInfo loader = options.loader.info();
    RunInfo info;
    info.name = name;
    info.directory = directory;
    info.model = "of Python";
    info.dataset = options.dataset.type();
    info.loader = options.loader.type();
    info.checkpoint = "none";
    info.device = device;
    info.timing_method = events_ ? "events" : "host";
    info.config = std::make_shared<const Node>(dump_struct(options));
    info.plan = plan_of(*info.config);
    info.rank = loader_->shard.rank;
    info.world_size = loader_->shard.world;
    const auto [first, last] = loader_->shard.places(loader.batch_size);
    info.batch_size = last - first;
    info.started_unix_s = unix_now();
    hub_.run().describe(info);
  }
  void take_segments() {
    for (const SegmentInterval& interval : ledger_.take_intervals()) {
      idle_->add_segment(interval);
      hub_.tracer().record({segment_name(interval.segment), "trainer", interval.begin, interval.end,
                            0, totals_.steps});
    }
  }
  void add_step(TimePoint begin, TimePoint end) {
    idle_->add_step({.submitted = begun_.front(), .start = begin, .end = end});
    begun_.pop_front();
    hub_.tracer().record("device", {"step", "device", begin, end});
  }
  void publish() {
    totals_.wall_s = ledger_.wall();
    totals_.segments = ledger_.totals();
    totals_.device = idle_->total();
    totals_.au = idle_->au();
    totals_.closure_error = ledger_.closure_error();
    hub_.run().publish(totals_, hub_.train_loader().queue_fill());
  }

  const std::shared_ptr<LoaderHandle::Opened> loader_;
  Hub& hub_;
  StepLedger ledger_;
  const bool events_;
  const nb::object log_;
  Remarks remarks_;
  std::optional<IdleAttribution> idle_;
  std::optional<RateWindows> rates_;
  std::deque<TimePoint> begun_;  // of steps whose end is not known yet
  int64_t images_ = 0;
  RunTotals totals_;
  RunRecord reported_;
  std::vector<std::unique_ptr<MetricsSink>> sinks_;
};

}  // namespace

void bind_watch(nb::module_& module) {
  nb::class_<WatchHandle>(module, "Watch")
      .def(nb::init<const LoaderHandle&, const std::string&, const std::string&, bool,
                    const std::string&, nb::list, nb::object>(),
           nb::arg("loader"), nb::arg("name"), nb::arg("device"), nb::arg("events"),
           nb::arg("directory"), nb::arg("sinks"), nb::arg("log"))
      .def("wait", &WatchHandle::wait)
      .def("take", &WatchHandle::take, nb::arg("images"), nb::arg("epoch"))
      .def("done", &WatchHandle::done)
      .def("stepped", &WatchHandle::stepped, nb::arg("begin"), nb::arg("end"))
      .def("report", &WatchHandle::report)
      .def("end", &WatchHandle::end, nb::arg("error"))
      .def("record", &WatchHandle::record);
}

}  // namespace stoker::python
