#include "io/sinks/exposition.h"

#include <prometheus/text_serializer.h>

#include <sstream>

#include "io/metrics/unix_time.h"
#include "io/sinks/families.h"

namespace stoker {
namespace {

std::string serialize(Families& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families.take());
  return std::move(text).str();
}

}  // namespace

std::string Exposition::text() {
  const std::lock_guard lock(mutex_);
  const MeasuringScope scope(hub_, Overhead::scrape);
  const RunMeter::State run = hub_.run().state();
  if (run.info.gpu && !nvml_) {
    nvml_.emplace();
    gpu_ = nvml_->device_by_index(*run.info.gpu);
  }
  Families families;
  add_run(families, run);
  add_training(families, run);
  add_device(families, run);
  if (gpu_) add_gpu(families, run.info.device, gpu_->read());
  add_loaders(families, hub_.loaders(), run);
  add_tiers(families, hub_.tiers());
  add_checkpoints(families, hub_.checkpoints().state());
  add_process(families, read_process_stats());
  add_system(families, read_system_stats(run.info.paths));
  add_overhead(families, hub_);
  return serialize(families);
}

std::string outcome_text(const RunMeter::State& run) {
  Families families;
  add_run(families, run);
  add_training(families, run);
  add_device(families, run);
  families.gauge("run_last_success_timestamp_seconds", "Unix time the last run completed.");
  if (run.phase == RunPhase::done) {
    families.add(unix_now());
  }
  return serialize(families);
}

}  // namespace stoker
