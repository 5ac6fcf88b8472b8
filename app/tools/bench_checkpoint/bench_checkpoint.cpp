#include "app/tools/bench_checkpoint/bench_checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/process/stop_signal.h"
#include "app/tools/bench_checkpoint/shape_run.h"
#include "io/checkpoint/checkpoint_options.h"
#include "io/core/system/usable_cores.h"
#include "io/core/text/text.h"
#include "io/core/threads.h"
#include "io/metrics/spread.h"

namespace stoker {

template <>
Registry<CheckpointBench>& Registry<CheckpointBench>::global() {
  static Registry registry;
  return registry;
}

ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments) {
  const StopSignal stop;
  const Interruptible scope(stop.token());
  try {
    if (!arguments.shape.empty()) return bench_shape(arguments);
    return default_component<CheckpointBench>("configured").create({arguments})->run();
  } catch (const Interrupted&) {
    print_note("stopped: nothing is reported");
    return stop.exit_code();
  }
}

namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

// The experiment's, or for a folder a tier in it.
SavingOptions saving_options(const CheckpointBenchArguments& arguments) {
  std::error_code error;
  const std::filesystem::path path = arguments.config;
  if (path.has_parent_path() && !path.has_extension() && !std::filesystem::exists(path, error)) {
    throw Error(ExitCode::environment,
                fmt::format("{}: there is no such folder: make it first", arguments.config));
  }
  if (!std::filesystem::is_directory(path, error)) {
    return read_saving_options(load_experiment(arguments.config, arguments.overrides), {},
                               print_note);
  }
  Node tier = Node::map(), tiers = Node::map(), checkpoint = Node::map(), root = Node::map();
  tier.entries.push_back({"type", {}, Node::text("posix")});
  tier.entries.push_back({"root", {}, Field<Path>::dump(Path{arguments.config})});
  tiers.entries.push_back({kSlowTier, {}, tier});
  root.entries.push_back({"storage", {}, tiers});
  checkpoint.entries.push_back({"type", {}, Node::text("direct")});
  root.entries.push_back({"checkpoint", {}, checkpoint});
  return read_saving_options(root, arguments.overrides, print_note);
}

// Saves or loads, as MLPerf counts them: a checkpoint takes as long as its slowest rank, and its
// throughput is the least that a rank has.
struct Counted {
  std::vector<double> duration_s;
  std::vector<double> least_gib_per_s;
  std::vector<double> all_gib_per_s;  // of the ranks here together

  void add(const std::vector<double>& seconds, const ShapeRanks& ranks) {
    double least = 0, bytes = 0;
    for (size_t i = 0; i < seconds.size(); ++i) {
      const auto own = static_cast<double>(ranks.bytes(i)) / kGiB;
      least = i == 0 ? own / seconds[i] : std::min(least, own / seconds[i]);
      bytes += own;
    }
    duration_s.push_back(std::ranges::max(seconds));
    least_gib_per_s.push_back(least);
    all_gib_per_s.push_back(bytes / duration_s.back());
  }
  nlohmann::json json() const {
    return {{"duration_s", spread(duration_s)},
            {"gib_per_s_of_slowest_rank", spread(least_gib_per_s)},
            {"gib_per_s", spread(all_gib_per_s)},
            {"each_s", duration_s}};
  }
};

struct ShapeResult {
  ShapePlan plan;
  std::string tier;
  bool emulated = false;
  CheckpointerInfo checkpoint;
  std::vector<uint64_t> rank_bytes;
  std::vector<size_t> rank_tensors;
  uint64_t world_bytes = 0;
  Counted saves;
  Counted loads;
  int64_t noise_threads = 0;
  NoiseSpeed noise;
};

ShapeResult measure_shape(const CheckpointBenchArguments& arguments) {
  const SavingOptions options = saving_options(arguments);
  ShapeResult result;
  result.checkpoint = options.checkpoint.info();
  result.plan = plan_shape(arguments, result.checkpoint);
  result.tier = result.checkpoint.written.front();
  const Component<Storage>& tier = options.storage.at(result.tier);
  result.emulated = tier.info().emulated;
  result.world_bytes = bytes_of_all_ranks(result.plan.shape, result.plan.parallel,
                                          arguments.optimizer, arguments.scale);
  result.noise_threads = std::min(result.checkpoint.threads, usable_cores());
  result.noise = measure_noise(result.noise_threads);
  const auto storage = tier.create({result.tier, print_note});
  ShapeRanks ranks(result.plan, arguments, result.checkpoint, result.tier, *storage);
  for (size_t i = 0; i < result.plan.ranks.size(); ++i) {
    result.rank_bytes.push_back(ranks.bytes(i));
    result.rank_tensors.push_back(ranks.tensors(i));
  }
  for (int64_t round = 1; round <= arguments.rounds; ++round) {
    throw_if_interrupted();
    show_progress("save", static_cast<uint64_t>(round), static_cast<uint64_t>(arguments.rounds));
    result.saves.add(ranks.save(round), ranks);
    if (!arguments.in_turns) continue;
    throw_if_interrupted();
    result.loads.add(ranks.load(round), ranks);
    ranks.remove(round);
  }
  for (int64_t round = 1; round <= arguments.rounds && !arguments.in_turns; ++round) {
    throw_if_interrupted();
    show_progress("load", static_cast<uint64_t>(round), static_cast<uint64_t>(arguments.rounds));
    result.loads.add(ranks.load(round), ranks);
  }
  if (!ranks.direct()) {
    result.plan.deviations.emplace_back("loads came through the page cache, which was not cleared");
  }
  return result;
}

std::string shape_text(const ShapeResult& result, const CheckpointBenchArguments& arguments) {
  const ShapePlan& plan = result.plan;
  const auto gib = [](uint64_t bytes) { return static_cast<double>(bytes) / kGiB; };
  std::string text = fmt::format(
      "{}: {} of {} ({}), ZeRO {}, optimizer {}, on tier {}{}\n"
      "rank {}: {:.2f} GiB in {}; all ranks: {:.1f} GiB (MLPerf's table: {})\n",
      plan.shape.name, plan.ranks.size(), plural(plan.parallel.ranks(), "rank"),
      to_string(plan.parallel), plan.shape.zero_stage, arguments.optimizer, result.tier,
      result.emulated ? " (EMULATED)" : "", plan.ranks.front(), gib(result.rank_bytes.front()),
      plural(result.rank_tensors.front(), "tensor"), gib(result.world_bytes), plan.shape.published);
  ResultTable table({{"", "checkpoints"},
                     {"", "duration s", 2},
                     {"", "GiB/s, slowest rank", 3},
                     {"", "GiB/s, all here", 3}});
  table.add({"save, durable", spread(result.saves.duration_s), spread(result.saves.least_gib_per_s),
             spread(result.saves.all_gib_per_s)});
  table.add({"load, verified", spread(result.loads.duration_s),
             spread(result.loads.least_gib_per_s), spread(result.loads.all_gib_per_s)});
  text += table.text(2);
  text += fmt::format(
      "the bytes are made at {:.1f} GB/s, {:.2f} of memset's {:.1f} (memcpy: {:.1f}), by "
      "{}\n",
      1e-9 * result.noise.noise, result.noise.noise / result.noise.memset,
      1e-9 * result.noise.memset, 1e-9 * result.noise.memcpy,
      plural(result.noise_threads, "thread"));
  text += plan.deviations.empty()
              ? std::string("as MLPerf's CLOSED division has it\n")
              : fmt::format("OPEN, for: {}\n", fmt::join(plan.deviations, "; "));
  return text;
}

nlohmann::json shape_json(const ShapeResult& result, const CheckpointBenchArguments& arguments) {
  const ShapePlan& plan = result.plan;
  return {{"shape", plan.shape.name},
          {"parallel",
           {{"tensor", plan.parallel.tensor},
            {"pipeline", plan.parallel.pipeline},
            {"data", plan.parallel.data}}},
          {"zero_stage", plan.shape.zero_stage},
          {"optimizer", arguments.optimizer},
          {"scale", arguments.scale},
          {"parameters", plan.shape.parameters()},
          {"ranks", plan.parallel.ranks()},
          {"ranks_here", plan.ranks},
          {"rank_bytes", result.rank_bytes},
          {"rank_tensors", result.rank_tensors},
          {"checkpoint_bytes", result.world_bytes},
          {"published_size", plan.shape.published},
          {"tier", result.tier},
          {"emulated", result.emulated},
          {"durability", result.checkpoint.durability},
          {"threads", result.checkpoint.threads},
          {"readers", result.checkpoint.readers},
          {"division", plan.deviations.empty() ? "closed" : "open"},
          {"deviations", plan.deviations},
          {"save", result.saves.json()},
          {"load", result.loads.json()},
          {"made_bytes_per_s",
           {{"noise", result.noise.noise},
            {"memset", result.noise.memset},
            {"memcpy", result.noise.memcpy},
            {"threads", result.noise_threads},
            {"share_of_memset", result.noise.noise / result.noise.memset}}}};
}

}  // namespace

ExitCode bench_shape(const CheckpointBenchArguments& arguments) {
  const ShapeResult result = measure_shape(arguments);
  throw_if_interrupted();
  return print_result(arguments.json, shape_json(result, arguments), shape_text(result, arguments));
}

}  // namespace stoker
