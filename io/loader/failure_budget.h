#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/dataset/dataset.h"

namespace stoker {

// Counts the bad samples of a run, and those that were tolerated, as their batches are handed out,
// so that the count does not depend on the loader or on how far it reads ahead. A sample that is
// bad in every epoch is one bad sample. One thread at a time. Keeps every occurrence of a bad
// sample, for the budget bounds their number per epoch, and each tolerated one once.
class FailureBudget {
 public:
  // A sample that was tolerated. A value.
  struct Tolerated {
    int64_t times = 0;
    // The first time's.
    std::string message;
  };

  // Counts from 0; resume() goes on from earlier counts.
  // `allowed`: dataset.on_error.budget in samples.
  explicit FailureBudget(int64_t allowed) : allowed_(allowed) {}

  // Goes on from an earlier process of the same run: its bad samples by key, how often which reason
  // occurred, and how often samples were tolerated.
  void resume(std::map<std::string, BadReason> bad, std::map<std::string, int64_t> by_reason,
              int64_t tolerated) {
    bad_ = std::move(bad);
    earlier_ = std::move(by_reason);
    times_tolerated_ = tolerated;
  }

  // Takes over batch.skipped and batch.tolerated. Throws Error(ExitCode::data), naming up to 20
  // files, when more different samples than allowed were bad; the counts are right then, too.
  void account(const Batch& batch);

  // Every occurrence in this process, in the order of the batches: the rows of skipped.csv.
  const std::vector<SkippedSample>& skipped() const { return skipped_; }
  // The different bad samples of the whole run.
  const std::map<std::string, BadReason>& bad() const { return bad_; }
  // How often each reason (to_string(BadReason)) occurred in the whole run.
  std::map<std::string, int64_t> by_reason() const;
  // By key, those of this process: the rows of tolerated.csv.
  const std::map<std::string, Tolerated>& tolerated() const { return tolerated_; }
  // How often samples were tolerated, in the whole run.
  int64_t times_tolerated() const { return times_tolerated_; }

 private:
  int64_t allowed_;
  std::vector<SkippedSample> skipped_;
  std::map<std::string, BadReason> bad_;  // different samples
  std::map<std::string, int64_t> earlier_;
  std::map<std::string, Tolerated> tolerated_;
  int64_t times_tolerated_ = 0;
};

}  // namespace stoker
