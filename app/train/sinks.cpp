#include "app/train/sinks.h"

#include <fmt/format.h>

#include "io/core/error.h"
#include "io/metrics/hub.h"

namespace stoker {

RunSinks::RunSinks(Experiment& experiment, const std::string& run_dir, RunLog& log,
                   const StopSignal& stop)
    : log_(log), meter_(experiment.hub().run()) {
  const auto& sinks = experiment.options().metrics.sinks;
  // All entries exist before the first sink does, because a sink's thread may report a failure
  // before the next sink is made.
  entries_.resize(sinks.size());
  const Clock::duration grace = from_seconds(experiment.options().checkpoint.info().grace_seconds);
  for (size_t i = 0; i < sinks.size(); ++i) {
    entries_[i].type = sinks[i].type();
    entries_[i].sink =
        sinks[i].create({.run_dir = run_dir,
                         .log = log.notify(),
                         .live = log.live(),
                         .emulated = experiment.device().info().emulated,
                         .hub = experiment.hub(),
                         .ends_by =
                             [&stop, grace] {
                               const std::optional<TimePoint> when = stop.when();
                               return when ? std::optional(*when + grace) : std::nullopt;
                             },
                         .failed = [this, i](const auto& error) { fail(i, error); }});
  }
}

void RunSinks::write(const RunRecord& now, const RunRecord& window) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!failed(i)) guarded(i, [&] { entries_[i].sink->write(now, window); });
  }
}

// Sinks that failed are flushed, too: what they have written so far should be readable.
void RunSinks::flush() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    guarded(i, [&] { entries_[i].sink->flush(); });
  }
}

std::string RunSinks::lost() const {
  const std::lock_guard lock(mutex_);
  std::string lost;
  for (const Entry& entry : entries_) {
    if (!entry.error.empty()) lost += fmt::format("; sink {}: {}", entry.type, entry.error);
  }
  return lost.empty() ? "" : "not everything was written" + lost;
}

bool RunSinks::failed(size_t sink) const {
  const std::lock_guard lock(mutex_);
  return !entries_[sink].error.empty();
}

template <class F>
void RunSinks::guarded(size_t sink, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    fail(sink, error.what());
  }
}

void RunSinks::fail(size_t sink, const std::string& error) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[sink];
  if (!entry.error.empty()) return;
  entry.error = error;
  meter_.sink_failed();
  log_.warn(fmt::format("{}: the training goes on without the sink {}", error, entry.type));
}

}  // namespace stoker
