#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/dataset/dataset.h"

namespace stoker {

// Counts the bad samples of a run as their batches are handed out, so that the count does not
// depend on the loader or on how far it reads ahead. A sample that is bad in every epoch is one bad
// sample. One thread at a time. Keeps every occurrence: the budget bounds their number per epoch.
class FailureBudget {
 public:
  // Counts from 0; resume() goes on from earlier counts.
  // `allowed`: dataset.on_error.budget in samples.
  explicit FailureBudget(int64_t allowed) : allowed_(allowed) {}

  // Goes on from an earlier process of the same run: its bad samples by key, and how often which
  // reason occurred.
  void resume(std::map<std::string, BadReason> bad, std::map<std::string, int64_t> by_reason) {
    bad_ = std::move(bad);
    earlier_ = std::move(by_reason);
  }

  // Takes over batch.skipped. Throws Error(ExitCode::data), naming up to 20 files, when more
  // different samples than allowed were bad; the counts are right then, too.
  void account(const Batch& batch);

  // Every occurrence in this process, in the order of the batches: the rows of skipped.csv.
  const std::vector<SkippedSample>& skipped() const { return skipped_; }
  // The different bad samples of the whole run.
  const std::map<std::string, BadReason>& bad() const { return bad_; }
  // Occurrences by reason (to_string(BadReason)), of the whole run.
  std::map<std::string, int64_t> by_reason() const;

 private:
  int64_t allowed_;
  std::vector<SkippedSample> skipped_;
  std::map<std::string, BadReason> bad_;  // different samples
  std::map<std::string, int64_t> earlier_;
};

}  // namespace stoker
