#include <cerrno>
#include <cstring>

#include "io/sinks/families.h"

namespace stoker {
namespace {

bool moves_bytes(size_t op) {
  const auto value = static_cast<TierOp>(op);
  return value == TierOp::read || value == TierOp::write;
}

template <class F>
void each_op(const std::vector<TierMeter::State>& tiers, F add) {
  for (const TierMeter::State& tier : tiers) {
    for (size_t op = 0; op < kTierOps; ++op) {
      add(tier, op,
          Families::Labels{{"tier", tier.name},
                           {"type", tier.type},
                           {"op", to_string(static_cast<TierOp>(op))}});
    }
  }
}

void add_overruns(Families& out, const std::vector<TierMeter::State>& tiers) {
  const auto each_emulated = [&](auto value) {
    for (const TierMeter::State& tier : tiers) {
      if (tier.emulated) out.add(value(tier), {{"tier", tier.name}, {"type", tier.type}});
    }
  };
  out.counter("tier_overruns_total",
              "Operations of an emulated tier that took longer than its model says, because the "
              "tier below or the processor did.");
  each_emulated([](const auto& tier) { return static_cast<double>(tier.overruns); });
  out.counter("tier_overrun_seconds_total",
              "By how much, summed over threads. More than a few per cent of the tier's time: its "
              "figures are not those of the emulated device.");
  each_emulated([](const auto& tier) { return tier.overrun_s; });
}

void add_caches(Families& out, const std::vector<TierMeter::State>& tiers) {
  const auto family = [&](auto value) {
    for (const TierMeter::State& tier : tiers) {
      if (tier.cache) out.add(static_cast<double>(value(*tier.cache)), {{"tier", tier.name}});
    }
  };
  using Cache = TierMeter::Cache;
  out.counter("cache_hits_total", "Reads that a tier of type cached answered from its copies.");
  family([](const Cache& cache) { return cache.hits; });
  out.counter("cache_misses_total", "Reads that it passed on to its inner tier.");
  family([](const Cache& cache) { return cache.misses; });
  out.gauge("cache_bytes", "Bytes of the copies it holds.");
  family([](const Cache& cache) { return cache.bytes; });
  out.gauge("cache_limit_bytes", "Bytes of copies it may hold.");
  family([](const Cache& cache) { return cache.limit; });
}

}  // namespace

void add_tiers(Families& out, const std::vector<TierMeter::State>& tiers) {
  out.gauge("tier_info", "The tiers of this run; always 1.");
  for (const TierMeter::State& t : tiers) {
    out.add(1, {{"tier", t.name}, {"type", t.type}, {"emulated", t.emulated ? "true" : "false"}});
  }
  out.counter("io_operations_total",
              "Operations that succeeded, on objects (data) and files (checkpoints) of a tier.");
  each_op(tiers, [&](const auto& tier, size_t op, const Families::Labels& labels) {
    out.add(static_cast<double>(tier.ops[op].count), labels);
  });
  out.counter("io_bytes_total", "Bytes moved by them.");
  each_op(tiers, [&](const auto& tier, size_t op, const Families::Labels& labels) {
    if (moves_bytes(op)) out.add(static_cast<double>(tier.ops[op].bytes), labels);
  });
  out.histogram(
      "io_duration_seconds",
      "Their latency as the caller saw it; of an emulated tier it is what the model says, "
      "or longer where stoker_tier_overruns_total counts.");
  each_op(tiers, [&](const auto& tier, size_t op, const Families::Labels& labels) {
    if (moves_bytes(op) || tier.ops[op].count > 0) out.add(tier.ops[op], labels);
  });
  out.counter("io_errors_total", "Operations that failed, by errno.");
  for (TierMeter::State tier : tiers) {
    tier.errors.emplace(std::pair(TierOp::read, EIO),
                        0);  // so that the series is there from the start
    for (const auto& [error, count] : tier.errors) {
      const char* name = error.second == 0 ? "none" : strerrorname_np(error.second);
      out.add(static_cast<double>(count), {{"tier", tier.name},
                                           {"type", tier.type},
                                           {"op", to_string(error.first)},
                                           {"errno", name == nullptr ? "unknown" : name}});
    }
  }
  out.gauge("io_inflight", "Operations under way now.");
  for (const TierMeter::State& tier : tiers) {
    out.add(static_cast<double>(tier.in_flight), {{"tier", tier.name}, {"type", tier.type}});
  }
  add_overruns(out, tiers);
  add_caches(out, tiers);
}

void add_checkpoints(Families& out, const CheckpointMeter::State& checkpoints) {
  if (!checkpoints.report) return;
  const CheckpointReport& report = *checkpoints.report;
  const auto part = [&](CheckpointPart p) -> const Tally::Totals& {
    return checkpoints.parts[static_cast<size_t>(p)];
  };
  const auto number = [](auto value) { return static_cast<double>(value); };
  out.counter("checkpoint_saves_total", "Checkpoints by what became of them.")
      .add(number(report.saved), {{"result", "success"}})
      .add(number(report.failed), {{"result", "failure"}})
      .add(number(report.skipped), {{"result", "skipped"}})
      .add(number(report.replaced), {{"result", "replaced"}});
  out.counter("checkpoint_restores_total", "States this process resumed from.")
      .add(number(part(CheckpointPart::restore).count));
  out.histogram("checkpoint_blocking_seconds", "Time the trainer waited for one checkpoint.")
      .add(part(CheckpointPart::blocked));
  out.histogram("checkpoint_duration_seconds",
                "snapshot: copy into snapshot memory; write: from there to the commit on the first "
                "tier; save: from the offer to that commit.");
  for (const auto p : {CheckpointPart::snapshot, CheckpointPart::write, CheckpointPart::save}) {
    out.add(part(p), {{"stage", to_string(p)}});
  }
  out.histogram("checkpoint_restore_seconds", "Time to verify and load a state.");
  if (part(CheckpointPart::restore).count > 0) out.add(part(CheckpointPart::restore));
  out.gauge("checkpoint_size_bytes", "Size of one set.").add(number(report.set_bytes));
  out.gauge("checkpoint_last_success_timestamp_seconds", "Unix time of the newest good save.");
  if (checkpoints.last_save_unix_s) out.add(*checkpoints.last_save_unix_s);
  out.gauge("checkpoint_saved_step", "Newest step that is saved on any tier.");
  if (report.saved_step) out.add(number(*report.saved_step));
  out.gauge("checkpoint_durable_step",
            "Newest step on the last tier; step - this is the work at risk.");
  if (report.durable_step) out.add(number(*report.durable_step));
  out.gauge("checkpoint_degraded", "1 where the last attempt on some tier failed.")
      .add(report.degraded ? 1 : 0);
  out.gauge("drain_pending_sets", "Sets that are on the fast tier only.")
      .add(number(report.drains_left));
  out.gauge("drain_pending_bytes", "Bytes of those sets.")
      .add(number(report.drains_left) * number(report.set_bytes));
  out.counter("drain_sets_total", "Sets drained: copied, verified and committed on the last tier.")
      .add(number(report.drained));
  out.counter("drain_bytes_total", "Bytes of the sets that were drained.")
      .add(number(part(CheckpointPart::drain).bytes));
  out.counter("drain_retries_total", "Attempts to drain that failed and were made again.")
      .add(number(report.drain_retries));
  out.histogram("drain_duration_seconds", "From the begin of a set's copy to its commit.")
      .add(part(CheckpointPart::drain));
}

}  // namespace stoker
