#include "io/metrics/record/record_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/core/text/json.h"
#include "io/core/text/text.h"
#include "io/metrics/record/run_record.h"
#include "io/metrics/verdict/verdict.h"

namespace stoker {
namespace {

using nlohmann::json;

// Counts stay whole numbers, whose digits a double's text may lack.
json number(double value, Unit unit) {
  const bool counted = unit == Unit::none || unit == Unit::bytes;
  if (counted && value == std::floor(value) && std::abs(value) < 1e15) {
    return static_cast<int64_t>(value);
  }
  return value;
}

json histogram_json(const Histogram& histogram, Unit unit) {
  json result = {{"count", histogram.count()}, {"sum", number(histogram.sum, unit)}};
  if (histogram.count() == 0) return result;
  result["mean"] = histogram.sum / static_cast<double>(histogram.count());
  const auto put = [&result](const char* name, const std::optional<double>& value) {
    if (value) result[name] = *value;
  };
  put("least", histogram.least);
  put("p50", histogram.p50);
  put("p99", histogram.p99);
  put("most", histogram.most);
  result["bounds"] = histogram.bounds;
  result["counts"] = histogram.counts;
  return result;
}

void put(json& out, const Figure& figure, const RunRecord& record) {
  for (const FigureValue& value : figure.read(record)) {
    if (!value.value && !value.histogram) continue;
    json* place = &out;
    for (const std::string& part : figure_place(figure, value.labels)) place = &(*place)[part];
    *place = value.histogram ? histogram_json(*value.histogram, figure.unit)
                             : number(*value.value, figure.unit);
  }
}

json run_json(const RunMeter::State& run) {
  const RunInfo& info = run.info;
  json out = {{"status", to_string(run.phase)},
              {"name", info.name},
              {"run_directory", info.directory},
              {"config_hash", info.config_hash},
              {"model", info.model},
              {"dataset", info.dataset},
              {"loader", info.loader},
              {"checkpoint", info.checkpoint},
              {"precision", info.precision},
              {"batch_size", info.batch_size},
              {"rank", info.rank},
              {"world_size", info.world_size},
              {"local_ranks", info.local_ranks},
              {"plan", info.plan},
              {"device",
               {{"name", info.device},
                {"timing_method", info.timing_method},
                {"emulated", info.emulated}}}};
  if (run.exit_code) out["exit_code"] = *run.exit_code;
  if (!run.error.empty()) out["error"] = run.error;
  if (!info.resumed_from.empty()) {
    out["resumed"] = {{"from", info.resumed_from}, {"step", info.first_step}};
  }
  for (const auto& [name, value] : info.build) out["build"][name] = value;
  return out;
}

json page_cache_json(const RunRecord& record) {
  const CacheEvidence& cache = record.run.cache;
  const CacheVerdict verdict = judge_cache(record);
  json out = {{"state", to_string(verdict.level)}, {"text", verdict.text}};
  if (cache.wanted != PageCache::as_is) out["wanted"] = to_string(cache.wanted);
  if (const std::string missed = missed_page_cache(cache); !missed.empty()) out["missed"] = missed;
  return out;
}

// What all ranks have together: sums, and the lowest and the highest value of each figure with its
// rank.
json all_ranks_json(const std::vector<RankTimes>& ranks) {
  json out = {{"images", int64_t{0}}, {"images_per_s", 0.0}};
  const auto rate = [](const RankTimes& rank) {
    return rank.wall_s > 0 ? static_cast<double>(rank.images) / rank.wall_s : 0;
  };
  for (const RankTimes& rank : ranks) {
    out["images"] = out["images"].get<int64_t>() + rank.images;
    out["images_per_s"] = out["images_per_s"].get<double>() + rate(rank);
  }
  const auto extremes = [&](const char* name, const auto& figure) {
    const auto [least, most] = std::ranges::minmax_element(ranks, {}, figure);
    for (const auto& [which, rank] : {std::pair("least", least), std::pair("most", most)}) {
      out["extremes"][name][which] = {{"rank", rank - ranks.begin()}, {"value", figure(*rank)}};
    }
  };
  extremes("images_per_s", rate);
  extremes("device_busy_s", [](const RankTimes& rank) { return rank.busy_s; });
  for (const Segment segment :
       {Segment::data_wait, Segment::allreduce, Segment::checkpoint_stall}) {
    const std::string name = std::string(segment_name(segment)) + "_s";
    extremes(name.c_str(), [segment](const RankTimes& rank) {
      return rank.segments[static_cast<size_t>(segment)];
    });
  }
  if (const auto straggler = find_straggler(ranks)) {
    out["straggler"] = {{"rank", straggler->rank},
                        {"cause", straggler->cause},
                        {"excess_s", straggler->excess_s},
                        {"share", straggler->share}};
  }
  return out;
}

json tier_json(const TierMeter::State& tier, const CacheEvidence& cache) {
  json out = {{"type", tier.type}, {"emulated", tier.emulated}, {"conditions", tier.conditions}};
  const std::string missed = missed_page_cache(cache);
  if (!missed.empty() && tier.ops[static_cast<size_t>(TierOp::read)].count > 0) {
    out["conditions"].push_back(missed);
  }
  return out;
}

// Nothing moves: what the trainer is in, and what is under way.
Verdict stalled(const RunRecord& record) {
  Verdict verdict;
  verdict.level = Verdict::Level::stalled;
  verdict.text = fmt::format("Nothing has moved for {:.0f} s; the trainer is in {}.",
                             record.run.stalled_s, segment_name(record.run.doing.segment));
  for (const TierMeter::State& tier : record.tiers) {
    if (tier.in_flight == 0) continue;
    verdict.evidence.push_back(
        fmt::format("{} operations under way on tier '{}'", tier.in_flight, tier.name));
  }
  const LoaderMeter::State& loader = record.loaders.front();
  verdict.evidence.push_back(
      fmt::format("{} of {} busy", loader.busy, plural(loader.workers, "worker")));
  return verdict;
}

}  // namespace

bool makes_progress(const RunMeter::State& run, double stalled_after_s) {
  const bool working = run.phase == RunPhase::train || run.phase == RunPhase::eval;
  return !working || run.stalled_s <= stalled_after_s;
}

json to_json(const RunRecord& record, double stalled_after_s) {
  json out = run_json(record.run);
  out["schema_version"] = kRecordSchema;
  out["page_cache"] = page_cache_json(record);
  out["tiers"] = json::object();
  for (const TierMeter::State& tier : record.tiers) {
    out["tiers"][tier.name] = tier_json(tier, record.run.cache);
  }
  const auto& checkpoints = record.checkpoints.report;
  if (checkpoints && !checkpoints->last_error.empty()) {
    out["checkpoints"]["last_error"] = checkpoints->last_error;
  }
  if (!record.run.ranks.empty()) out["all_ranks"] = all_ranks_json(record.run.ranks);
  for (const Figure& figure : figures()) {
    if (figure.in_summary) put(out, figure, record);
  }
  const std::shared_ptr<const Node>& config = record.run.info.config;
  out["verdict"] = makes_progress(record.run, stalled_after_s)
                       ? judge(out, config ? *config : Node::map())
                       : stalled(record);
  out["judged"] = judged_shares(out);
  return out;
}

json to_json(std::span<const Figure* const> chosen, const RunRecord& now, const RunRecord& window) {
  json out = json::object();
  for (const Figure* figure : chosen) {
    put(out, *figure, figure->kind == FigureKind::quotient ? window : now);
  }
  return out;
}

void to_json(json& out, const Evaluation& evaluation) {
  out = evaluation.measures;
  out["epoch"] = evaluation.epoch;
  out["step"] = evaluation.step;
  out["samples"] = evaluation.samples;
  out["seconds"] = evaluation.seconds;
}

void from_json(const json& in, Evaluation& evaluation) {
  const auto whole = [&](const char* name) { return whole_number(in.at(name)); };
  evaluation = {whole("epoch"), whole("step"), whole("samples"), {}, in.at("seconds")};
  for (const auto& [name, value] : in.items()) {
    const bool own = name == "epoch" || name == "step" || name == "samples" || name == "seconds";
    if (!own) evaluation.measures[name] = value;
  }
}

}  // namespace stoker
