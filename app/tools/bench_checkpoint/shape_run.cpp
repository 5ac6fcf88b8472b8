#include "app/tools/bench_checkpoint/shape_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/base/progress_line.h"
#include "app/tools/checkpoint/set_stream.h"
#include "io/checkpoint/restoring/read_set.h"
#include "io/core/random.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

constexpr int64_t kClosedRounds = 10;
constexpr size_t kSubset = 8;

// What MLPerf Storage's rules have otherwise (Submission_guidelines: 4.3, 4.6, table 2 and 3).
std::vector<std::string> deviations_of(const ShapePlan& plan,
                                       const CheckpointBenchArguments& arguments,
                                       const CheckpointerInfo& checkpoint) {
  std::vector<std::string> found;
  const auto when = [&](bool deviates, const std::string& what) {
    if (deviates) found.push_back(what);
  };
  const Parallel& usual = plan.shape.parallel;
  const auto world = static_cast<size_t>(usual.ranks());
  when(plan.parallel != usual, fmt::format("{} ({}) instead of {} ({})", to_string(plan.parallel),
                                           plural(plan.parallel.ranks(), "rank"), to_string(usual),
                                           plural(usual.ranks(), "rank")));
  when(plan.ranks.size() != world && (plan.ranks.size() != kSubset || world == kSubset),
       fmt::format("{} of {} ranks run: all have to, or as a subset 8 of more", plan.ranks.size(),
                   world));
  when(arguments.scale != 1, fmt::format("tensors have {} of their elements", arguments.scale));
  when(arguments.optimizer != "adamw",
       fmt::format("optimizer {} instead of adamw", arguments.optimizer));
  when(arguments.rounds != kClosedRounds,
       fmt::format("checkpoints are saved and loaded {} instead of {}",
                   plural(arguments.rounds, "time"), kClosedRounds));
  when(checkpoint.durability != "fsync", "nothing is synced (checkpoint.durability: none)");
  when(arguments.in_turns, "each is loaded right after its save, and not after all saves");
  return found;
}

}  // namespace

ShapePlan plan_shape(const CheckpointBenchArguments& arguments,
                     const CheckpointerInfo& checkpoint) {
  ShapePlan plan;
  plan.shape = find_shape(arguments.shape);
  plan.parallel = parse_parallel(arguments.parallel, plan.shape.parallel);
  const int64_t model = plan.parallel.tensor * plan.parallel.pipeline;
  if (arguments.ranks > 0 && arguments.ranks % model != 0) {
    throw Error(ExitCode::config,
                fmt::format("--ranks {}: {} needs a multiple of {} ranks (tensor times pipeline "
                            "parallelism): take --ranks {}, or another --parallel",
                            arguments.ranks, plan.shape.name, model,
                            (arguments.ranks / model + 1) * model));
  }
  if (arguments.ranks > 0) {
    const bool given = arguments.parallel.find("dp=") != std::string::npos;
    if (given && arguments.ranks != plan.parallel.ranks()) {
      throw Error(ExitCode::config,
                  fmt::format("--ranks {}: --parallel {} are {} ranks: leave one of "
                              "the two out",
                              arguments.ranks, arguments.parallel, plan.parallel.ranks()));
    }
    plan.parallel.data = arguments.ranks / model;
  }
  plan.ranks = arguments.rank;
  std::ranges::sort(plan.ranks);
  plan.ranks.erase(std::unique(plan.ranks.begin(), plan.ranks.end()), plan.ranks.end());
  if (plan.ranks.empty() || plan.ranks.front() < 0 || plan.ranks.back() >= plan.parallel.ranks()) {
    throw Error(ExitCode::config,
                fmt::format("--rank {}: {} has ranks 0 to {}", fmt::join(arguments.rank, ","),
                            to_string(plan.parallel), plan.parallel.ranks() - 1));
  }
  plan.deviations = deviations_of(plan, arguments, checkpoint);
  if (arguments.closed && !plan.deviations.empty()) {
    throw Error(ExitCode::config,
                fmt::format("--closed: MLPerf's CLOSED division does not allow this: {}",
                            fmt::join(plan.deviations, "; ")));
  }
  return plan;
}

ShapeRanks::ShapeRanks(const ShapePlan& plan, const CheckpointBenchArguments& arguments,
                       const CheckpointerInfo& checkpoint, const std::string& tier,
                       Storage& storage)
    : checkpoint_(checkpoint), folder_(storage, bench_folder_name()) {
  const auto durability = checkpoint.durability == "fsync" ? Durability::fsync : Durability::none;
  for (const int64_t number : plan.ranks) {
    std::vector<TensorInfo> tensors =
        tensors_of_rank(plan.shape, plan.parallel, number, arguments.optimizer, arguments.scale);
    SetLayout layout = make_layout(FileLayout::safetensors, std::move(tensors), 1);
    auto store = sets_on(tier, storage, fmt::format("{}/rank-{}", folder_.path(), number),
                         {.run = "bench", .durability = durability, .warn = print_note});
    store->open_for_writing();
    ranks_.push_back({number, std::move(layout), std::move(store)});
  }
}

template <class Work>
std::vector<double> ShapeRanks::all(const Work& work) {
  std::vector<double> took(ranks_.size());
  const auto count = static_cast<int64_t>(ranks_.size());
  const TimePoint begin = Clock::now();
  parallel_for(count, count, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    work(ranks_[at]);
    took[at] = seconds(Clock::now() - begin);
  });
  return took;
}

std::vector<double> ShapeRanks::save(int64_t step) {
  return all([&](Rank& rank) {
    Manifest manifest;
    manifest.step = step;
    manifest.durability = checkpoint_.durability;
    manifest.training = nlohmann::json::object();
    const uint64_t seed = mix(static_cast<uint64_t>(rank.number), static_cast<uint64_t>(step));
    write_set(
        *rank.store, rank.layout, std::move(manifest),
        [&](size_t, uint64_t offset, std::span<uint8_t> out) { fill_noise(seed, offset, out); },
        {.threads = checkpoint_.threads});
  });
}

std::vector<double> ShapeRanks::load(int64_t step) {
  const Rank& first = ranks_.front();
  if (const FileTree* tree = first.store->files().tree()) {
    const std::string file = first.store->path(step) + "/" + first.layout.files.front().name;
    direct_ = direct_ && tree->open(file, FileAccess::direct).direct();
  }
  return all([&](Rank& rank) {
    const SetFiles& files = rank.store->files();
    const std::string set = rank.store->path(step);
    read_set(files, set, read_manifest(files, set), checkpoint_.readers, {});
  });
}

void ShapeRanks::remove(int64_t step) {
  for (const Rank& rank : ranks_) rank.store->remove(step);
}

}  // namespace stoker
