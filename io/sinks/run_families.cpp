#include "io/sinks/families.h"

namespace stoker {
namespace {

std::string share(int64_t k) { return std::to_string(k); }

}  // namespace

std::string run_label(const RunInfo& info) {
  return info.directory.substr(info.directory.rfind('/') + 1);
}

void add_run(Families& out, const RunMeter::State& run) {
  const RunInfo& info = run.info;
  Families::Labels build;
  for (const auto& [name, value] : info.build) build.emplace_back(name, value);
  out.gauge("build_info", "Build of this binary; always 1.").add(1, build);
  out.gauge("run_info", "What this run is; config is the hash of the resolved YAML; always 1.")
      .add(1, {{"run", run_label(info)},
               {"config", info.config_hash},
               {"loader", info.loader},
               {"dataset", info.dataset},
               {"model", info.model},
               {"checkpoint", info.checkpoint},
               {"device", info.device},
               {"precision", info.precision},
               {"rank", share(info.rank)}});
  out.gauge("run_start_time_seconds", "Unix time the run began.").add(info.started_unix_s);
  out.gauge("run_phase", "1 for what the run is doing, 0 for all other phases.");
  for (size_t i = 0; i < kRunPhases; ++i) {
    const auto phase = static_cast<RunPhase>(i);
    out.add(phase == run.phase ? 1 : 0, {{"phase", to_string(phase)}});
  }
  out.gauge("steps_planned", "Steps this run intends to do, those before a resume included.");
  if (info.steps_planned > 0) {
    out.add(static_cast<double>(info.steps_planned), {{"phase", "train"}});
  }
  out.gauge("step", "Last finished training step, those before a resume included.")
      .add(static_cast<double>(run.totals.step));
  out.gauge("last_step_timestamp_seconds", "Unix time the last training step finished: heartbeat.");
  if (run.last_step_unix_s) out.add(*run.last_step_unix_s);
  out.gauge("run_since_progress_seconds",
            "Time since a step, a batch of the evaluation or a phase of the run ended.")
      .add(run.since_beat_s);
}

void add_training(Families& out, const RunMeter::State& run) {
  const RunTotals& totals = run.totals;
  const auto count = [](int64_t value) { return static_cast<double>(value); };
  out.counter("steps_total", "Finished steps (train) and batches (eval) of this process.")
      .add(count(totals.steps), {{"phase", "train"}})
      .add(count(run.eval_batches), {{"phase", "eval"}});
  out.counter("samples_total", "Samples trained on or evaluated by this process.")
      .add(count(totals.images), {{"phase", "train"}})
      .add(count(run.eval_images), {{"phase", "eval"}});
  out.counter("epochs_total", "Finished epochs of this process.")
      .add(count(totals.epochs), {{"phase", "train"}});
  out.counter("step_segment_seconds_total",
              "Time of the trainer's thread by what it did; exclusive segments that add up to "
              "loop_seconds_total. compute is submitting work and waiting for the loss, not device "
              "time.");
  for (size_t i = 0; i < kSegments; ++i) {
    out.add(totals.segments[i], {{"segment", segment_name(static_cast<Segment>(i))}});
  }
  out.counter("loop_seconds_total", "Wall time of the training loop, by the monotonic clock.")
      .add(totals.wall_s);
  out.gauge("ledger_closure_error_ratio",
            "|sum of the segments - wall time| / wall time, measured when the loop has ended.");
  if (totals.closure_error) out.add(*totals.closure_error);
  out.histogram("step_duration_seconds", "Wall time from the end of a step to the end of the next.")
      .add(run.step_times);
  out.histogram("data_wait_seconds", "Time the trainer blocked for the batch of a step.")
      .add(run.data_waits);
  out.gauge("loss", "Last training loss that was read (every metrics.every_steps steps).");
  if (run.loss) out.add(*run.loss);
  out.gauge("learning_rate", "Learning rate of that step.");
  if (run.learning_rate) out.add(*run.learning_rate);
  out.gauge("accuracy_ratio", "Last evaluated accuracy on the test split.");
  if (run.accuracy)
    out.add(run.accuracy->top1, {{"top", "1"}}).add(run.accuracy->top5, {{"top", "5"}});
  out.counter("nonfinite_losses_total", "Losses read that were NaN or infinite.")
      .add(count(run.nonfinite_losses));
}

void add_device(Families& out, const RunMeter::State& run) {
  const std::string& device = run.info.device;
  const DeviceTime& time = run.totals.device;
  out.gauge("device_timing_info",
            "How busy and idle are measured: host (the trainer's clock: the CPU is the device), "
            "events (CUDA events, read late) or emulated (exact); always 1.")
      .add(1, {{"device", device}, {"method", run.info.timing_method}});
  if (time.observed <= 0) return;
  out.counter(
         "device_busy_seconds_total",
         "Device time with work. compute: from the begin to the end of steps; copy: of batches "
         "to the device.")
      .add(time.busy, {{"device", device}, {"engine", "compute"}})
      .add(time.copy, {{"device", device}, {"engine", "copy"}});
  out.counter("device_idle_seconds_total",
              "Device time between steps without work, by what the host did meanwhile. Gaps inside "
              "a step are not seen: a lower bound on a GPU.");
  for (size_t i = 0; i < kIdleCauses; ++i) {
    out.add(time.idle[i],
            {{"device", device}, {"cause", idle_cause_name(static_cast<IdleCause>(i))}});
  }
  out.counter("device_observed_seconds_total",
              "Device time observed: compute busy + idle, from the begin of the loop to the end of "
              "the last finished step.")
      .add(time.observed, {{"device", device}});
  out.gauge("device_au_ratio",
            "Accelerator utilisation as MLPerf Storage defines it: compute / total, without the "
            "first step.");
  if (run.totals.au) out.add(*run.totals.au, {{"device", device}});
  out.gauge("device_window_idle_ratio",
            "Share of the newest profiler window (metrics.profile) in which no kernel ran, gaps "
            "inside steps included.");
  if (run.window_idle) out.add(*run.window_idle, {{"device", device}});
}

void add_gpu(Families& out, const std::string& device, const GpuReadings& gpu) {
  const auto ratio = [&](const char* name, const char* help, const std::optional<double>& value) {
    out.gauge(name, help);
    if (value) out.add(*value, {{"device", device}});
  };
  ratio("device_kernel_resident_ratio",
        "NVML's utilisation: share of its sample period (up to 1 s) in which any kernel was "
        "resident. Says nothing about how full the device was.",
        gpu.kernel_resident);
  ratio("device_sm_active_ratio", "NVML GPM since the last scrape: SMs with work.",
        gpu.gpm.sm_active);
  ratio("device_sm_occupancy_ratio", "NVML GPM since the last scrape: resident warps / maximum.",
        gpu.gpm.sm_occupancy);
  ratio("device_dram_active_ratio", "NVML GPM since the last scrape: memory bandwidth / maximum.",
        gpu.gpm.dram_active);
  out.gauge("device_memory_bytes", "Device memory by NVML, of all processes.");
  if (gpu.memory_used_bytes && gpu.memory_total_bytes) {
    out.add(static_cast<double>(*gpu.memory_used_bytes), {{"device", device}, {"kind", "used"}});
    out.add(static_cast<double>(*gpu.memory_total_bytes), {{"device", device}, {"kind", "total"}});
  }
  out.counter("device_energy_joules_total", "Energy since the driver was loaded, by NVML.");
  if (gpu.energy_joules) out.add(*gpu.energy_joules, {{"device", device}});
}

}  // namespace stoker
