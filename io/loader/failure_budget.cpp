#include "io/loader/failure_budget.h"

#include <fmt/format.h>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr size_t kNamed = 20;

}  // namespace

void FailureBudget::account(const Batch& batch) {
  for (const SkippedSample& sample : batch.skipped) {
    skipped_.push_back(sample);
    bad_.emplace(sample.key, sample.reason);
  }
  for (const ToleratedSample& sample : batch.tolerated) {
    ++tolerated_.try_emplace(sample.key, Tolerated{0, sample.message}).first->second.times;
    ++times_tolerated_;
  }
  if (static_cast<int64_t>(bad_.size()) <= allowed_) return;
  std::string names;
  size_t named = 0;
  for (const auto& [key, reason] : bad_) {
    if (named++ == kNamed) break;
    names += fmt::format("\n  {}: {}", key, to_string(reason));
  }
  if (bad_.size() > kNamed) names += fmt::format("\n  and {} more", bad_.size() - kNamed);
  throw Error(ExitCode::data,
              fmt::format("dataset: {} bad samples, more than dataset.on_error.budget allows ({}): "
                          "repair or remove them, or raise the budget{}",
                          bad_.size(), allowed_, names));
}

std::map<std::string, int64_t> FailureBudget::by_reason() const {
  std::map<std::string, int64_t> counts = earlier_;
  for (const SkippedSample& sample : skipped_) ++counts[to_string(sample.reason)];
  return counts;
}

}  // namespace stoker
