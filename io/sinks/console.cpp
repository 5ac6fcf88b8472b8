#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "io/metrics/clock.h"
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
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  Console(Options, const Inputs& inputs) : inputs_(inputs) {}

  void write(const StepReport& report) override {
    if (!inputs_.live) {
      inputs_.log(line(report));
      return;
    }
    // More than ten lines a second are unreadable and cost a write each.
    const TimePoint now = Clock::now();
    if (shown_ && seconds(now - last_) < 0.1 && report.step != report.steps_planned) return;
    last_ = now;
    shown_ = true;
    fmt::print(stderr, "\r\x1b[K{}", line(report));
    std::fflush(stderr);
  }

  void flush() override {
    if (shown_) fmt::print(stderr, "\n");
    shown_ = false;
  }

 private:
  std::string line(const StepReport& r) const {
    std::string text = fmt::format("step {}/{}  epoch {}", r.step, r.steps_planned, r.epoch);
    if (r.loss) text += fmt::format("  loss {:.4f}", *r.loss);
    text += fmt::format("  {:.0f} images/s  I/O share {:.1f} %", r.images_per_s, 100 * r.io_share);
    if (r.device_idle) text += fmt::format("  device idle {:.1f} %", 100 * *r.device_idle);
    if (r.checkpoints && r.checkpoints->degraded) text += "  CHECKPOINTS DEGRADED";
    text += fmt::format("  ETA {}", duration(r.eta_s));
    return inputs_.emulated ? text + "  (emulated device)" : text;
  }

  const Inputs inputs_;
  bool shown_ = false;
  TimePoint last_;
};

STOKER_REGISTER(MetricsSink, "console", Console);

}  // namespace
}  // namespace stoker
