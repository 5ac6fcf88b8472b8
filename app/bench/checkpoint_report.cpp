#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/result_table.h"
#include "app/bench/checkpoint.h"

namespace stoker {
namespace {

// A figure of all rounds; in JSON `key`, unless that is empty.
struct RoundFigure {
  std::string key;
  std::string title;
  std::vector<double> seconds;
};

std::vector<RoundFigure> figures_of(const CheckpointBenchmark& result) {
  const auto column = [&](double SaveCost::*field) {
    std::vector<double> values;
    for (const SaveCost& save : result.saves) values.push_back(save.*field);
    return values;
  };
  std::vector<RoundFigure> figures = {
      {"stall_s", "stall", column(&SaveCost::stall_s)},
      {"memcpy_s", "memcpy of as much", column(&SaveCost::memcpy_s)},
      {"saved_s", "saved, first tier", column(&SaveCost::saved_s)},
      {"drain_s", "drain", result.drain_s},
      {"durable_s", "durable, last tier", column(&SaveCost::durable_s)},
      {"load_s", "load and verify", result.load_s}};
  std::erase_if(figures, [](const RoundFigure& figure) { return figure.seconds.empty(); });
  return figures;
}

nlohmann::json checkpoint_json(const CheckpointBenchmark& result) {
  const SaveCost& first = result.saves.front();
  nlohmann::json json = {
      {"name", "stoker-" + result.type + "-" + result.snapshot},
      {"type", result.type},
      {"snapshot", result.snapshot},
      {"durability", result.durability},
      {"device", result.device},
      {"set_bytes", result.set_bytes},
      {"threads", result.threads},
      {"saves", result.saves.size()},
      {"first",
       {{"stall_s", first.stall_s}, {"saved_s", first.saved_s}, {"durable_s", first.durable_s}}}};
  for (const RoundFigure& figure : figures_of(result)) json[figure.key] = spread(figure.seconds);
  for (const TierCost& tier : result.tiers) {
    json["tiers"][tier.tier] = {{"write_s", spread(tier.write_s)}, {"read_s", spread(tier.read_s)}};
  }
  return json;
}

void print_checkpoint(const CheckpointBenchmark& result) {
  const double megabytes = 1e-6 * static_cast<double>(result.set_bytes);
  fmt::print("{} saves of {:.1f} MB, checkpoint {} ({}), durability {}, {} threads, on {}\n",
             result.saves.size(), megabytes, result.type, result.snapshot, result.durability,
             result.threads, result.device);
  ResultTable table({{"", "ms"},
                     {"", "p50", 1},
                     {"", "p99", 1},
                     {"", "max", 1},
                     {"", "first", 1},
                     {"", "MB/s (p50)"}});
  const auto add = [&](const std::string& title, const std::vector<double>& seconds) {
    const Spread s = spread(seconds);
    table.add({title, 1e3 * s.median, 1e3 * s.p99, 1e3 * s.max, 1e3 * seconds.front(),
               megabytes / s.median});
  };
  for (const RoundFigure& figure : figures_of(result)) add(figure.title, figure.seconds);
  for (const TierCost& tier : result.tiers) {
    add(fmt::format("tier {} by itself: write", tier.tier), tier.write_s);
    add(fmt::format("tier {} by itself: read", tier.tier), tier.read_s);
  }
  fmt::print("{}", table.text(2));
}

}  // namespace

ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments) {
  const CheckpointBenchmark result = measure_checkpoints(arguments);
  if (arguments.json) {
    fmt::print("{}\n", checkpoint_json(result).dump());
  } else {
    print_checkpoint(result);
  }
  return ExitCode::ok;
}

}  // namespace stoker
