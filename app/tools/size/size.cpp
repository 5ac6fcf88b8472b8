#include "app/tools/size/size.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/base/progress_line.h"
#include "app/base/result_table.h"
#include "app/tools/size/need.h"
#include "app/tools/size/sized_data.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

// "20,000"; below 100 with one digit.
std::string count(double value) {
  if (value > 0 && value < 0.1) return "less than 0.1";
  if (value < 100) {
    const std::string text = fmt::format("{:.1f}", value);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  }
  std::string text = fmt::format("{:.0f}", value);
  for (int64_t at = std::ssize(text) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string size_of(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", 1e-9 * value);
  if (bytes >= 1'000'000) return fmt::format("{:.0f} MB", 1e-6 * value);
  return fmt::format("{:.0f} KB", 1e-3 * value);
}

// What is asked, and what came out.
struct Answer {
  const SizeArguments& arguments;
  const SizedData& data;
  const NodeNeed& need;

  const SimulationOptions& options() const { return data.inputs.options; }
  bool many_nodes() const { return options().machine.nodes > 1; }
};

std::string gpus_sentence(const Answer& answer) {
  const SimulatedMachine& machine = answer.options().machine;
  const auto gpus = static_cast<double>(machine.ranks_per_node);
  const int64_t batch = answer.options().workload.loader.info().batch_size / machine.ranks();
  return fmt::format(
      "{} of {} images/s each, in batches of {}{}", plural(machine.ranks_per_node, "GPU"),
      count(answer.need.images_per_s / gpus), batch,
      answer.many_nodes() ? fmt::format("; on each of {}", plural(machine.nodes, "node")) : "");
}

std::string cores_sentence(const Answer& answer) {
  const SimulatedCosts& costs = answer.options().workload.costs;
  const double trainers =
      answer.arguments.trainer_cores * static_cast<double>(answer.options().machine.ranks_per_node);
  std::string text = fmt::format("an image takes {:.3g} ms of a core ({}), so {} are busy",
                                 costs.core_share * (costs.read_ms + costs.decode_ms),
                                 answer.data.decoding, count(answer.need.busy_cores));
  if (trainers > 0) text += fmt::format(", and {} are for the GPUs' own threads", count(trainers));
  if (!answer.arguments.cores) return text;
  const TierNeed& cached = answer.need.cached;
  return text + (cached.holds
                     ? fmt::format("; the {} that are there do", count(*answer.arguments.cores))
                     : fmt::format("; the {} that are there load {} images/s",
                                   count(*answer.arguments.cores), count(cached.images_per_s)));
}

std::string memory_sentence(const Answer& answer) {
  std::string text = "for batches on their way to the GPUs; ";
  if (answer.data.all_bytes == 0)
    return text + "what is free beside them keeps files for the next epoch";
  return text + fmt::format("with {} more, all files stay in memory after the first epoch",
                            size_of(answer.data.all_bytes));
}

std::string tier_sentence(const Answer& answer, const TierNeed& tier) {
  const double demand =
      answer.need.images_per_s * static_cast<double>(answer.options().machine.nodes);
  const std::string workers = plural(tier.workers, "worker") + " for each GPU";
  if (tier.holds) return fmt::format("gives all {} images/s, to {}", count(demand), workers);
  std::string text =
      fmt::format("gives {} images/s of {}, to {}: {} bind{}", count(tier.images_per_s),
                  count(demand), workers, tier.binds, tier.binds.ends_with('s') ? "" : "s");
  if (tier.devices == 0) return text;
  return text + fmt::format("; {} would hold, with {} for each GPU",
                            plural(tier.devices, "such device"),
                            plural(tier.workers_of_devices, "worker"));
}

// Of the cores and the tiers that somebody has, the one that gives least.
struct Binding {
  std::string what;
  std::string sentence;
};
Binding binds_first(const Answer& answer) {
  const NodeNeed& need = answer.need;
  const size_t own = answer.arguments.tiers.size() + (answer.data.own_tier.empty() ? 0 : 1);
  const TierNeed* least = need.cached.holds ? nullptr : &need.cached;
  for (size_t i = 0; i < own; ++i) {
    const TierNeed& tier = need.tiers[i];
    if (!tier.holds && (least == nullptr || tier.images_per_s < least->images_per_s)) least = &tier;
  }
  if (least != nullptr) {
    const std::string what =
        least->binds == "the tier" ? "tier " + least->name : least->binds.substr(4);
    const double demand = need.images_per_s * static_cast<double>(answer.options().machine.nodes);
    return {what, fmt::format("a GPU waits {:.0f} % of its time for {}",
                              100 * (1 - least->images_per_s / demand),
                              what.starts_with("tier") ? what : "the " + what)};
  }
  if (own > 0) return {"GPUs", "what is sized here feeds them; faster storage changes nothing"};
  std::vector<std::string> good;
  for (const TierNeed& tier : need.tiers) {
    if (tier.holds) good.push_back(tier.name);
  }
  if (!good.empty()) {
    return {"GPUs", fmt::format("where the tier is as fast as {}; on the others, the tier",
                                fmt::join(good, " or "))};
  }
  return {"the storage",
          "no known tier is fast enough: keep the files in memory or on each node, or "
          "read fewer bytes an image"};
}

ResultTable rows_of(const Answer& answer) {
  const NodeNeed& need = answer.need;
  ResultTable rows({{"what", "what"}, {"need", "need"}, {"why", "why"}});
  const SimulatedData& read = answer.options().workload.data;
  rows.add({"images/s", count(need.images_per_s), gpus_sentence(answer)});
  rows.add({"cores", count(need.cores), cores_sentence(answer)});
  rows.add({"workers", fmt::format("{} a GPU", need.cached.workers),
            "threads that load for each GPU where files are in memory; tiers below need their own "
            "number"});
  rows.add({"memory", size_of(need.batch_bytes), memory_sentence(answer)});
  rows.add({"storage", count(need.mb_per_s) + " MB/s",
            fmt::format("{} images/s of {} each", count(need.images_per_s),
                        size_of(read.sample_bytes.bytes))});
  rows.add({"requests", count(need.requests_per_s) + " /s",
            fmt::format("{} for each image{}", read.requests + read.metadata,
                        read.whole_files ? " or whole file" : "")});
  for (const TierNeed& tier : need.tiers) {
    rows.add({"tier " + tier.name, tier.holds ? "holds" : "too slow", tier_sentence(answer, tier)});
  }
  const Binding first = binds_first(answer);
  rows.add({"binds first", first.what, first.sentence});
  return rows;
}

nlohmann::json json_of(const TierNeed& tier) {
  return {{"tier", tier.name},
          {"workers", tier.workers},
          {"images_per_s", tier.images_per_s},
          {"holds", tier.holds},
          {"binds", tier.binds},
          {"devices", tier.devices},
          {"workers_of_devices", tier.workers_of_devices}};
}

nlohmann::json json_of(const Answer& answer) {
  const NodeNeed& need = answer.need;
  nlohmann::json json{{"images_per_s", need.images_per_s},
                      {"busy_cores", need.busy_cores},
                      {"cores", need.cores},
                      {"mb_per_s", need.mb_per_s},
                      {"requests_per_s", need.requests_per_s},
                      {"batch_bytes", need.batch_bytes},
                      {"decode_ms", answer.options().workload.costs.decode_ms},
                      {"decoding", answer.data.decoding},
                      {"in_memory", json_of(need.cached)},
                      {"binds_first", binds_first(answer).what},
                      {"rows", rows_of(answer).json()}};
  for (const TierNeed& tier : need.tiers) json["tiers"].push_back(json_of(tier));
  return json;
}

// Those of the user's, then the profiles.
std::vector<NamedTier> tiers_of(const SizeArguments& arguments, const SizedData& data) {
  std::vector<NamedTier> tiers;
  if (!data.own_tier.empty()) {
    const auto& storage = data.inputs.options.machine.storage;
    tiers.push_back({data.own_tier, storage.at(data.own_tier)});
  }
  for (const std::string& path : arguments.tiers) tiers.push_back(read_tier_file(path, print_note));
  for (const auto& [name, profile] : enum_names(TierProfile{})) {
    NamedTier tier{name, {}};
    tier.tier.figures.profile = profile;
    tiers.push_back(std::move(tier));
  }
  return tiers;
}

}  // namespace

ExitCode size_node(const SizeArguments& arguments) {
  const SizedData data = sized_data(arguments);
  const NodeNeed need = node_need(arguments, data.inputs, data.pixel_bytes,
                                  tiers_of(arguments, data), progress_of("tiers"));
  const Answer answer{arguments, data, need};
  return print_result(
      arguments.json, json_of(answer),
      rows_of(answer).text() +
          "CALCULATED by the engine of `stoker simulate`, not measured; a tier is one "
          "device with the figures of its profile\n");
}

}  // namespace stoker
