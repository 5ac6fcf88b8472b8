#include <string>

#include "io/metrics/sink.h"
#include "io/sinks/event_file.h"

namespace stoker {
namespace {

void put(Scalars& scalars, const char* tag, const std::optional<double>& value) {
  if (value) scalars.emplace_back(tag, *value);
}

void put_checkpoints(Scalars& scalars, const StepReport& r) {
  const CheckpointReport& c = *r.checkpoints;
  for (const auto& [tag, count] : {std::pair("saved", c.saved),
                                   {"failed", c.failed},
                                   {"skipped", c.skipped},
                                   {"drained", c.drained},
                                   {"drains_left", c.drains_left}}) {
    scalars.emplace_back(std::string("checkpoints/") + tag, static_cast<double>(count));
  }
  if (c.saved_step) {
    scalars.emplace_back("checkpoints/steps_since_saved",
                         static_cast<double>(r.step - *c.saved_step));
  }
  if (c.durable_step) {
    scalars.emplace_back("checkpoints/steps_since_durable",
                         static_cast<double>(r.step - *c.durable_step));
  }
  if (c.set_bytes > 0) {
    scalars.emplace_back("checkpoints/set_bytes", static_cast<double>(c.set_bytes));
  }
}

// The part before the slash is the card group on TensorBoard's page.
Scalars scalars_of(const StepReport& r) {
  Scalars scalars;
  put(scalars, "training/loss", r.loss);
  put(scalars, "training/learning_rate", r.learning_rate);
  put(scalars, "training/epoch", static_cast<double>(r.epoch));
  put(scalars, "training/images_per_s", r.images_per_s);
  put(scalars, "accuracy/top1", r.top1);
  put(scalars, "accuracy/top5", r.top5);
  put(scalars, "io/io_share", r.io_share);
  put(scalars, "io/device_idle", r.device_idle);
  for (const auto& [cause, share] : r.idle_by_cause) {
    scalars.emplace_back("device_idle/" + cause, share);
  }
  double sum = 0;
  for (const auto& [segment, time] : r.segments) sum += time;
  for (const auto& [segment, time] : r.segments) {
    if (sum > 0) scalars.emplace_back("segments/" + segment, time / sum);
  }
  if (r.checkpoints) put_checkpoints(scalars, r);
  return scalars;
}

// An event file in the run directory, with every report as scalars: shares are 0 to 1, those of
// segments are of the trainer's time. What was not measured has no point.
class TensorBoard final : public MetricsSink {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
  };
  TensorBoard(Options, const Inputs& inputs) : file_(inputs.run_dir) {}

  void write(const StepReport& report) override { file_.add(report.step, scalars_of(report)); }

 private:
  EventFile file_;
};

STOKER_REGISTER(MetricsSink, "tensorboard", TensorBoard);

}  // namespace
}  // namespace stoker
