#include <cerrno>
#include <cstring>
#include <functional>

#include "io/metrics/record/figure_table.h"
#include "io/metrics/record/run_record.h"

namespace stoker {
namespace {

using enum FigureKind;
using R = const RunRecord&;
using Tier = TierMeter::State;

constexpr const char* kCaller =
    "The monotonic clock is read before and after each operation, as its caller sees it. An "
    "emulated tier takes as long as its model says, or longer where overruns counts it.";
constexpr const char* kMoved = "Counted when an operation succeeds.";
constexpr const char* kModel = "Counted by the emulated tier.";
constexpr const char* kCopies = "Counted by a tier of type cached.";
constexpr const char* kHedges = "Counted by a tier with the option `hedge`.";

const Tally::Totals& of(const Tier& tier, TierOp op) { return tier.ops[static_cast<size_t>(op)]; }

// Labelled by tier and operation. Reads and writes are there from the start, the rest once used.
template <class F>
Read by_operation(F value) {
  return several([value](R record, const auto& add) {
    for (const Tier& tier : record.tiers) {
      for (size_t i = 0; i < kTierOps; ++i) {
        const auto op = static_cast<TierOp>(i);
        if (!moves(op) && tier.ops[i].count == 0) continue;
        add({tier.name, to_string(op)}, value(tier, op));
      }
    }
  });
}

// One value for reads and one for writes. `value` takes it from a tier, the operation and the
// record.
template <class F>
Read by_move(F value) {
  return several([value](R record, const auto& add) {
    for (const Tier& tier : record.tiers) {
      for (const TierOp op : {TierOp::read, TierOp::write}) {
        add({tier.name, to_string(op)}, value(tier, op, record));
      }
    }
  });
}

template <class F>
Read by_tier(F value) {
  return several([value](R record, const auto& add) {
    for (const Tier& tier : record.tiers) add({tier.name}, std::invoke(value, tier));
  });
}

template <class T>
Read by_cache(T TierMeter::Cache::*member) {
  return by_tier([member](const Tier& tier) {
    return tier.cache ? Value((*tier.cache).*member) : std::nullopt;
  });
}

Read by_hedges(int64_t TierMeter::Hedges::*member) {
  return by_tier([member](const Tier& tier) {
    return tier.hedges ? Value(static_cast<double>((*tier.hedges).*member)) : std::nullopt;
  });
}

template <class T>
Read by_emulated(T Tier::*member) {
  return by_tier(
      [member](const Tier& tier) { return tier.emulated ? Value(tier.*member) : std::nullopt; });
}

const TierMeter::Moved& moved(const Tier& tier, TierOp op) {
  return tier.moved[op == TierOp::write];
}

double megabytes(const Tier& tier, TierOp op) {
  return 1e-6 * static_cast<double>(of(tier, op).bytes);
}

std::vector<Figure> operations() {
  return {
      {"tiers.{tier}.{op}.duration_s", histogram, Unit::seconds,
       "Time of operations that succeeded, on objects (data) and files (checkpoints).", kCaller,
       by_operation([](const Tier& tier, TierOp op) { return histogram_of(of(tier, op)); })},
      {"tiers.{tier}.{op}.bytes", counter, Unit::bytes, "Bytes that the operations moved.", kMoved,
       by_move([](const Tier& tier, TierOp op, R) { return of(tier, op).bytes; })},
      {"tiers.{tier}.{op}.request_bytes", histogram, Unit::bytes, "Sizes of operations.", kMoved,
       by_move([](const Tier& tier, TierOp op, R) {
         const SizeCounts& counts = moved(tier, op).sizes;
         return Histogram{{kSizeBounds.begin(), kSizeBounds.end()},
                          {counts.begin(), counts.end()},
                          static_cast<double>(of(tier, op).bytes)};
       })},
      {"tiers.{tier}.{op}.busy_s", counter, Unit::seconds,
       "Time during which at least one operation of the kind was under way.", kCaller,
       by_move([](const Tier& tier, TierOp op, R) { return moved(tier, op).busy_s; })},
      {"tiers.{tier}.{op}.mb_per_s", quotient, Unit::mb_per_s,
       "The tier's rate over the whole run: bytes / elapsed_s.", kMoved,
       by_move([](const Tier& tier, TierOp op, R record) {
         return ratio(megabytes(tier, op), record.elapsed_s);
       })},
      {"tiers.{tier}.{op}.busy_mb_per_s", quotient, Unit::mb_per_s,
       "The tier's rate while it had something to do: bytes / busy_s. It is absent for reads if "
       "the state that run.page_cache asks for was not reached.",
       kMoved, by_move([](const Tier& tier, TierOp op, R record) -> Value {
         if (op == TierOp::read && !missed_page_cache(record.run.cache).empty()) return {};
         if (of(tier, op).bytes == 0) return {};
         return ratio(megabytes(tier, op), moved(tier, op).busy_s);
       })},
      {"tiers.{tier}.{op}.operations_per_s", quotient, Unit::per_s,
       "Operations that ended, per second of the run: their number / elapsed_s.", kMoved,
       by_move([](const Tier& tier, TierOp op, R record) {
         return ratio(static_cast<double>(of(tier, op).count), record.elapsed_s);
       })},
      {"tiers.{tier}.{op}.errors.{errno}", counter, Unit::none, "Operations that failed.",
       "Counted by the tier.", several([](R r, const auto& add) {
         for (const Tier& tier : r.tiers) {
           auto errors = tier.errors;
           errors.emplace(std::pair(TierOp::read, EIO), 0);  // there from the start
           for (const auto& [error, count] : errors) {
             const char* name = error.second == 0 ? "none" : strerrorname_np(error.second);
             add({tier.name, to_string(error.first), name == nullptr ? "unknown" : name}, count);
           }
         }
       })},
  };
}

std::vector<Figure> states() {
  using Cache = TierMeter::Cache;
  return {
      {"tiers.{tier}.in_flight", gauge, Unit::none, "Operations that are under way now.",
       "Counted by the tier.", by_tier(&Tier::in_flight)},
      {"tiers.{tier}.overruns", counter, Unit::none,
       "Operations of an emulated tier that took longer than its model says, because the tier "
       "below or the processor was slower.",
       kModel, by_emulated(&Tier::overruns)},
      {"tiers.{tier}.overrun_s", counter, Unit::seconds,
       "The time by which they took longer, summed over threads. If it is more than a few per cent "
       "of the tier's time, its figures are not those of the emulated device.",
       kModel, by_emulated(&Tier::overrun_s)},
      {"tiers.{tier}.processes", gauge, Unit::none,
       "The most processes that used the emulated device at a time, this run's ranks included: its "
       "rate is divided between them.",
       "Counted in the state that they share.", by_tier([](const Tier& tier) {
         return tier.processes > 0 ? Value(static_cast<double>(tier.processes)) : std::nullopt;
       })},
      {"tiers.{tier}.cache.hits", counter, Unit::none, "Reads that were answered by a copy.",
       kCopies, by_cache(&Cache::hits)},
      {"tiers.{tier}.cache.misses", counter, Unit::none,
       "Reads that were passed on to the inner tier.", kCopies, by_cache(&Cache::misses)},
      {"tiers.{tier}.cache.held_bytes", gauge, Unit::bytes, "Bytes that the copies take.", kCopies,
       by_cache(&Cache::bytes)},
      {"tiers.{tier}.cache.limit_bytes", gauge, Unit::bytes, "Bytes that the copies may take.",
       "Configuration.", by_cache(&Cache::limit)},
  };
}

std::vector<Figure> tail() {
  using Hedges = TierMeter::Hedges;
  return {
      {"tiers.{tier}.hedge.reads", counter, Unit::none,
       "Reads that were sent a further time because they were late.", kHedges,
       by_hedges(&Hedges::sent)},
      {"tiers.{tier}.hedge.won", counter, Unit::none,
       "Reads of which a further one was through first.", kHedges, by_hedges(&Hedges::won)},
      {"tiers.{tier}.hedge.bytes", counter, Unit::bytes,
       "Bytes that the further reads brought, used or not.", kHedges, by_hedges(&Hedges::bytes)},
      {"tiers.{tier}.most_in_flight", gauge, Unit::none,
       "How many requests the tier may have in flight at its server now.",
       "Told by a tier of type http or s3; its option `in_flight` says how it is chosen.",
       by_tier([](const Tier& tier) {
         return tier.most_in_flight > 0 ? Value(static_cast<double>(tier.most_in_flight))
                                        : std::nullopt;
       })},
  };
}

}  // namespace

std::vector<Figure> tier_figures() { return joined({operations(), states(), tail()}); }

}  // namespace stoker
