#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/core/system/standard_streams.h"
#include "io/metrics/clock.h"
#include "io/metrics/record/figures.h"
#include "io/metrics/sink.h"

namespace stoker {
namespace {

std::string duration(double s) {
  const auto whole = static_cast<int64_t>(std::lround(s));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

// One live line on a terminal, else a line of the log per report.
class Console final : public MetricsSink {
 public:
  using Options = NoOptions;
  Console(Options, const Inputs& inputs) : inputs_(inputs) {}

  void write(const RunRecord& run, const RunRecord& window) override {
    if (!inputs_.live) {
      inputs_.log(line(run, window));
      return;
    }
    // More than ten lines a second are unreadable and cost a write each.
    const TimePoint now = Clock::now();
    const bool last = run.run.totals.steps == run.run.info.steps_planned;
    if (shown_ && seconds(now - last_) < 0.1 && !last) return;
    last_ = now;
    shown_ = true;
    rewrite_line(line(run, window));
  }

  void flush() override {
    if (shown_) write_stderr("\n");
    shown_ = false;
  }

 private:
  // Its parts in the order in which a narrow terminal should show them (fitted()).
  std::string line(const RunRecord& now, const RunRecord& window) const {
    static const auto figures = select_figures({"images_per_s", "exposed_io_share", "io_share"});
    const std::vector<RowField> row = figure_row(figures, now, window);
    const RunMeter::State& run = now.run;
    const RunTotals& passed = window.run.totals;
    const double step_s = passed.wall_s / static_cast<double>(std::max<int64_t>(1, passed.steps));
    std::string text = fmt::format("step {}/{}", run.totals.steps, run.info.steps_planned);
    if (now.checkpoints.report && now.checkpoints.report->degraded)
      text += "  CHECKPOINTS DEGRADED";
    if (run.loss) text += fmt::format("  loss {:.4f}", *run.loss);
    return text +
           fmt::format(
               "  {:.0f} images/s{}  I/O exposed {:.1f} %  ETA {}  epoch {}  waited {:.1f} %",
               row[0].value.value_or(0), inputs_.emulated ? " (emulated device)" : "",
               100 * row[1].value.value_or(0),
               duration(step_s * static_cast<double>(run.info.steps_planned - run.totals.steps)),
               run.totals.epoch, 100 * row[2].value.value_or(0));
  }

  const Inputs inputs_;
  bool shown_ = false;
  TimePoint last_;
};

STOKER_REGISTER(MetricsSink, "console", Console);

}  // namespace
}  // namespace stoker
