#include "app/tools/advise/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "app/base/result_table.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

uint64_t bytes_of(const Advice& advice, const Chosen& chosen) {
  uint64_t bytes = 0;
  for (const size_t i : chosen) bytes += advice.uses[i].bytes;
  return bytes;
}

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

ResultTable ways_table(const Advice& advice) {
  ResultTable table({{"way", "staged"},
                     {"objects", "objects"},
                     {"share_of_objects", "share %", 1, 100},
                     {"bytes", ""},
                     {"", "MB", 1},
                     {"share_of_bytes", "share %", 1, 100},
                     {"epoch_s", "epoch s", 2},
                     {"run_s", "run s", 2},
                     {"run_low_s", "from", 2},
                     {"run_high_s", "to", 2},
                     {"rate_gain", "rate %", 1, 100}});
  uint64_t all = 0;
  for (const ObjectUse& use : advice.uses) all += use.bytes;
  const double unstaged = advice.ways.front().run.seconds;
  for (const StagingWay& way : advice.ways) {
    const uint64_t bytes = bytes_of(advice, way.chosen);
    const auto count = static_cast<double>(way.chosen.size());
    table.add({way.name, static_cast<int64_t>(way.chosen.size()),
               share_of(count, static_cast<double>(advice.uses.size())),
               static_cast<int64_t>(bytes), 1e-6 * static_cast<double>(bytes),
               share_of(static_cast<double>(bytes), static_cast<double>(all)),
               share_of(way.run.seconds, advice.epochs), way.run.seconds, way.run.low, way.run.high,
               share_of(unstaged, way.run.seconds) - 1});
  }
  return table;
}

}  // namespace

StagingPlan Advice::plan() const {
  Chosen order = ways.at(planned).chosen;
  const auto place = [&](size_t i) { return std::tuple(uses[i].first < 0, uses[i].first); };
  std::ranges::stable_sort(order, {}, place);
  StagingPlan result;
  for (const size_t i : order) {
    result.objects.push_back({uses[i].key, uses[i].bytes});
    result.bytes += uses[i].bytes;
  }
  return result;
}

std::string advice_text(const Advice& advice) {
  std::string text = fmt::format(
      "tier {}: {}; slow: {}; fast: {}\n  reads: {}\n{}  by {}, {:.4g} {}{}; "
      "everything "
      "planned is staged before the run; rate: against nothing staged\n",
      advice.tier, plural(advice.uses.size(), "object"), advice.slow_source, advice.fast_source,
      advice.reads_source, ways_table(advice).text(2), plural(advice.pace.readers, "reader"),
      advice.epochs, advice.epochs == 1 ? "epoch" : "epochs",
      advice.pace.rest_s + advice.pace.decode_s > 0
          ? fmt::format(", with {:.2f} s of decoding and {:.2f} s of the trainer",
                        advice.pace.decode_s, advice.pace.rest_s)
          : ", reading alone");
  if (advice.run_was_s > 0) {
    text += fmt::format("  the run itself took {:.2f} s, and {:.2f} s by this model: {:+.1f} %\n",
                        advice.run_was_s, advice.run_modelled_s,
                        100 * (advice.run_modelled_s / advice.run_was_s - 1));
  }
  return text;
}

nlohmann::json advice_json(const Advice& advice) {
  nlohmann::json json = {{"name", "advise"},
                         {"tier", advice.tier},
                         {"slow", advice.slow_source},
                         {"fast", advice.fast_source},
                         {"reads", advice.reads_source},
                         {"capacity", advice.capacity},
                         {"objects", advice.uses.size()},
                         {"epochs", advice.epochs},
                         {"readers", advice.pace.readers},
                         {"decode_s", advice.pace.decode_s},
                         {"trainer_s", advice.pace.rest_s},
                         {"ways", ways_table(advice).json()},
                         {"planned", advice.ways.at(advice.planned).name}};
  if (advice.run_was_s > 0) {
    json["run"] = {{"seconds", advice.run_was_s}, {"modelled_s", advice.run_modelled_s}};
  }
  return json;
}

nlohmann::ordered_json plan_facts(const Advice& advice) {
  const StagingWay& way = advice.ways.at(advice.planned);
  const double epochs = advice.epochs > 0 ? advice.epochs : 1;
  return {{"tier", advice.tier},
          {"capacity", advice.capacity},
          {"chosen_by", way.name},
          {"slow", advice.slow_source},
          {"fast", advice.fast_source},
          {"reads", advice.reads_source},
          {"predicted",
           {{"run_s", way.run.seconds},
            {"run_low_s", way.run.low},
            {"run_high_s", way.run.high},
            {"epoch_s", way.run.seconds / epochs},
            {"epoch_low_s", way.run.low / epochs},
            {"epoch_high_s", way.run.high / epochs},
            {"unstaged_epoch_s", advice.ways.front().run.seconds / epochs}}}};
}

}  // namespace stoker
