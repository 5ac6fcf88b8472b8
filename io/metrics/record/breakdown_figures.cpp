#include "io/metrics/record/figure_table.h"

namespace stoker {
namespace {

using enum FigureKind;

constexpr const char* kParts =
    "From the ledger's segments. data_wait is divided as read and decode divide the time of the "
    "loader's threads. Forward, backward and update are timed by the monotonic clock where the "
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
       "The trainer's time, divided as in LMDBIO's papers into exclusive parts that add up to "
       "wall_s. read and transform are the time it waited for data (breakdown_hidden_s is the rest "
       "of that work), wait_before_sync is its wait for the slowest rank, and sync is the exchange "
       "of gradients that backward does not hide. A step on a GPU or an emulated device is not "
       "divided: compute then contains the parts that are absent.",
       kParts, of_this_rank()},
      {"breakdown_hidden_s.{part}", counter, Unit::seconds,
       "Time that the loader's threads spend in read and transform while the trainer does its own "
       "work.",
       "The time of these threads, less breakdown_s.", of_hidden_time()},
      {"ranks.{rank}.breakdown_s.{part}", counter, Unit::seconds, "The breakdown_s of each rank.",
       "Every rank tells rank 0 whenever there is a report.", of_each_rank()},
      {"all_ranks.breakdown_s.{part}", counter, Unit::seconds,
       "The sum of breakdown_s over all ranks. In a run of one rank it is that rank's.",
       "As for each rank.", of_all_ranks()},
  };
}

}  // namespace stoker
