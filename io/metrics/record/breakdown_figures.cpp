#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;

constexpr const char* kParts =
    "The ledger's segments; of data_wait the parts that read and decode have in the time of the "
    "loader's threads; forward, backward and update by the monotonic clock around them, where the "
    "trainer's thread computes them.";

const LoaderMeter::State* training_loader(const RunRecord& record) {
  for (const LoaderMeter::State& loader : record.loaders) {
    if (loader.split == "train") return &loader;
  }
  return nullptr;
}

using Adds = std::function<void(std::vector<std::string>, Value)>;

void add_parts(std::vector<std::string> labels, const Breakdown& parts, const Adds& add) {
  labels.emplace_back();
  for (size_t i = 0; i < kTimeParts; ++i) {
    labels.back() = time_part_name(static_cast<TimePart>(i));
    if (parts[i]) add(labels, parts[i]);
  }
}

Read of_this_rank() {
  return several([](const RunRecord& record, const auto& add) {
    const LoaderMeter::State* loader = training_loader(record);
    if (loader == nullptr) return;
    add_parts({}, break_down(record.run.totals, record.run.info.timing_method, *loader), add);
  });
}

Read of_hidden_time() {
  return several([](const RunRecord& record, const auto& add) {
    const LoaderMeter::State* loader = training_loader(record);
    if (loader != nullptr) add_parts({}, hidden_time(record.run.totals, *loader), add);
  });
}

Read of_each_rank() {
  return several([](const RunRecord& record, const auto& add) {
    for (size_t rank = 0; rank < record.run.ranks.size(); ++rank) {
      add_parts({std::to_string(rank)}, record.run.ranks[rank].breakdown, add);
    }
  });
}

Read of_all_ranks() {
  return several([](const RunRecord& record, const auto& add) {
    const LoaderMeter::State* loader = training_loader(record);
    if (loader == nullptr) return;
    Breakdown sum{};
    const auto take = [&sum](const Breakdown& parts) {
      for (size_t i = 0; i < kTimeParts; ++i) {
        if (parts[i]) sum[i] = sum[i].value_or(0) + *parts[i];
      }
    };
    if (record.run.ranks.empty()) {
      take(break_down(record.run.totals, record.run.info.timing_method, *loader));
    }
    for (const RankTimes& rank : record.run.ranks) take(rank.breakdown);
    add_parts({}, sum, add);
  });
}

}  // namespace

std::vector<Figure> breakdown_figures() {
  return {
      {"breakdown_s.{part}", counter, Unit::seconds,
       "The trainer's time as LMDBIO's papers stack it, exclusive parts that add up to wall_s: "
       "read "
       "and transform are what it waited for data (the rest of that work is hidden: "
       "breakdown_hidden_s), wait_before_sync what the slowest rank keeps it waiting for, sync the "
       "exchange of gradients that backward does not hide. Absent are parts that are contained in "
       "compute: of a step on a GPU or an emulated device, which is not divided.",
       kParts, of_this_rank()},
      {"breakdown_hidden_s.{part}", counter, Unit::seconds,
       "Time of the loader's threads in read and transform beside the trainer's own work.",
       "Their time, less breakdown_s.", of_hidden_time()},
      {"ranks.{rank}.breakdown_s.{part}", counter, Unit::seconds, "breakdown_s, of each rank.",
       "Rank 0, which all others tell it whenever there is a report.", of_each_rank()},
      {"all_ranks.breakdown_s.{part}", counter, Unit::seconds,
       "breakdown_s, summed over all ranks; of one, its own.", "As of each rank.", of_all_ranks()},
  };
}

}  // namespace stoker
