#include "io/metrics/record/run_record.h"

#include <algorithm>

namespace stoker {
namespace {

// What a step may consist of.
double trained_s(const std::array<double, kSegments>& segments) {
  double sum = 0;
  for (size_t i = 0; i < kSegments; ++i) {
    const auto segment = static_cast<Segment>(i);
    const bool other = segment == Segment::eval || segment == Segment::checkpoint_stall ||
                       segment == Segment::paused;
    if (!other) sum += segments[i];
  }
  return sum;
}

}  // namespace

RunRecord between(const RunRecord& before, const RunRecord& now) {
  RunRecord piece = now;
  piece.run.totals = now.run.totals - before.run.totals;
  piece.elapsed_s = now.elapsed_s - before.elapsed_s;
  piece.use = {before.machine, now.machine, piece.elapsed_s};
  for (size_t i = 0; i < std::min(now.tiers.size(), before.tiers.size()); ++i) {
    TierMeter::State& tier = piece.tiers[i];
    for (size_t op = 0; op < kTierOps; ++op) tier.ops[op] -= before.tiers[i].ops[op];
    for (size_t way = 0; way < tier.moved.size(); ++way) {
      tier.moved[way].busy_s -= before.tiers[i].moved[way].busy_s;
    }
  }
  for (size_t i = 0; i < std::min(now.run.ranks.size(), before.run.ranks.size()); ++i) {
    piece.run.ranks[i] -= before.run.ranks[i];
  }
  return piece;
}

RunRecord with_step_under_way(RunRecord record) {
  const RunPhase phase = record.run.phase;
  if (phase != RunPhase::train && phase != RunPhase::eval) return record;
  RunTotals& totals = record.run.totals;
  // Whole steps only would make saw teeth of a constant rate. After the last step none is under
  // way.
  const double done = trained_s(record.run.doing.spent_s) - trained_s(totals.segments);
  const bool last = totals.steps == record.run.info.steps_planned;
  if (record.run.step_s > 0 && done > 0 && !last) {
    totals.images += static_cast<int64_t>(static_cast<double>(record.run.step_images) *
                                          std::min(1.0, done / record.run.step_s));
  }
  totals.segments = record.run.doing.spent_s;
  totals.wall_s = std::max(totals.wall_s, record.elapsed_s);
  return record;
}

}  // namespace stoker
