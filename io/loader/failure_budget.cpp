#include "io/loader/failure_budget.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

constexpr size_t kNamed = 20;

// Empty: in older checkpoints, that the tier had failed.
std::optional<BadReason> reason_of(const std::string& text) {
  for (int i = 0; i <= static_cast<int>(BadReason::unsupported); ++i) {
    if (text == to_string(static_cast<BadReason>(i))) return static_cast<BadReason>(i);
  }
  if (text == "io") return std::nullopt;
  throw Error(ExitCode::storage,
              "the bad samples of an earlier process have an unknown reason: '" + text + "'");
}

}  // namespace

nlohmann::json to_json(const FailureCounts& counts) {
  nlohmann::json bad = nlohmann::json::object();
  for (const auto& [key, reason] : counts.bad) bad[key] = to_string(reason);
  return {{"skipped", {{"by_reason", counts.by_reason}, {"samples", bad}}},
          {"tolerated", counts.tolerated}};
}

FailureCounts failure_counts(const nlohmann::json& json) {
  FailureCounts counts;
  const nlohmann::json& skipped = json.at("skipped");
  for (const auto& [reason, count] : skipped.at("by_reason").items()) {
    counts.by_reason[reason] = whole_number(count);
  }
  for (const auto& [key, reason] : skipped.at("samples").items()) {
    if (const auto known = reason_of(reason)) counts.bad[key] = *known;
  }
  if (json.contains("tolerated")) counts.tolerated = whole_number(json["tolerated"]);
  return counts;
}

void FailureBudget::account(const Batch& batch) {
  for (const SkippedSample& sample : batch.skipped) {
    skipped_.push_back(sample);
    counts_.bad.emplace(sample.key, sample.reason);
    ++counts_.by_reason[to_string(sample.reason)];
  }
  for (const ToleratedSample& sample : batch.tolerated) {
    ++tolerated_.try_emplace(sample.key, Tolerated{0, sample.message}).first->second.times;
    ++counts_.tolerated;
  }
  const std::map<std::string, BadReason>& bad = counts_.bad;
  if (static_cast<int64_t>(bad.size()) <= allowed_) return;
  std::string names;
  size_t named = 0;
  for (const auto& [key, reason] : bad) {
    if (named++ == kNamed) break;
    names += fmt::format("\n  {}: {}", key, to_string(reason));
  }
  if (bad.size() > kNamed) names += fmt::format("\n  and {} more", bad.size() - kNamed);
  throw Error(ExitCode::data,
              fmt::format("dataset: {} bad samples, more than dataset.on_error.budget allows ({}): "
                          "repair or remove them, or raise the budget{}",
                          bad.size(), allowed_, names));
}

}  // namespace stoker
