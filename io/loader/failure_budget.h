#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/batch.h"
#include "io/dataset/dataset.h"

namespace stoker {

// What survives the process: of a run in all its processes. A value.
struct FailureCounts {
  // Each bad sample once, by its key.
  std::map<std::string, BadReason> bad;
  // How often each reason (to_string(BadReason)) occurred.
  std::map<std::string, int64_t> by_reason;
  // How often damaged samples were used (decoder.tolerance).
  int64_t tolerated = 0;
};

// {"skipped": {"by_reason": ..., "samples": ...}, "tolerated": ...}, in a checkpoint and in the
// state of Python's loader.
nlohmann::json to_json(const FailureCounts& counts);
// Error(ExitCode::storage) or an exception of nlohmann::json where it is not what to_json() wrote.
FailureCounts failure_counts(const nlohmann::json& json);

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

  // Goes on from an earlier process of the same run. Before the first account().
  void resume(FailureCounts earlier) { counts_ = std::move(earlier); }

  // Takes over batch.skipped and batch.tolerated. Throws Error(ExitCode::data), naming up to 20
  // files, when more different samples than allowed were bad; the counts are right then, too.
  void account(const Batch& batch);

  // Every occurrence in this process, in the order of the batches: the rows of skipped.csv.
  const std::vector<SkippedSample>& skipped() const { return skipped_; }
  // Of the whole run.
  const FailureCounts& counts() const { return counts_; }
  // By key, those of this process: the rows of tolerated.csv.
  const std::map<std::string, Tolerated>& tolerated() const { return tolerated_; }

 private:
  int64_t allowed_;
  FailureCounts counts_;
  std::vector<SkippedSample> skipped_;
  std::map<std::string, Tolerated> tolerated_;
};

}  // namespace stoker
