#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/dataset/dataset.h"

namespace stoker {

// Counts the bad samples of a run as their batches are handed out, so that the count does not
// depend on the loader or on how far it reads ahead. One thread at a time.
class FailureBudget {
 public:
  // allowed: dataset.on_error.budget in samples.
  explicit FailureBudget(int64_t allowed) : allowed_(allowed) {}

  // Throws Error(ExitCode::data), naming the files, when more different samples than allowed were
  // bad.
  void account(const Batch& batch);

  const std::vector<SkippedSample>& skipped() const { return skipped_; }  // every occurrence
  // Occurrences by reason.
  std::map<std::string, int64_t> by_reason() const;

 private:
  int64_t allowed_;
  std::vector<SkippedSample> skipped_;
  std::map<std::string, BadReason> bad_;  // different samples
};

}  // namespace stoker
