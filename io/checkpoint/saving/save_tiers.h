#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/sets/set_store.h"
#include "io/core/error.h"

namespace stoker {

// fast: sets are written to the fast tier and drained to the slow one. slow: they are written to
// the slow one at once.
enum class WriteTo { fast, slow };

// The sets of a run on each tier that its options name: also on the fast one where nothing is
// written to it, so that a run may go on with the other checkpointer. Any thread.
class SaveTiers {
 public:
  // Touches no tier. What `inputs` refers to must outlive it. warn: is called from any thread.
  // Error(ExitCode::config) where the fast tier of many ranks keeps no files.
  SaveTiers(const CheckpointOptions& options, const Checkpointer::Inputs& inputs, WriteTo write_to,
            const Notify& warn);

  // The one that a save waits for, and the one where sets stay; one and the same without a drain.
  SetStore& first() const { return drains() ? *stores_.front() : *stores_.back(); }
  SetStore& last() const { return *stores_.back(); }
  bool drains() const { return write_to_ == WriteTo::fast; }
  // The fast tier's comes first, where there is one.
  const std::vector<std::unique_ptr<SetStore>>& stores() const { return stores_; }
  // Below each tier's root. On a tier that each rank has for itself, the ranks' own ones lie in it.
  const std::string& directory() const { return directory_; }

 private:
  const WriteTo write_to_;
  const std::string directory_;
  std::vector<std::unique_ptr<SetStore>> stores_;
};

// Lines for the user's log, of whatever thread has something to say. The trainer's thread writes
// them, for the user's log is its alone.
class DeferredLog {
 public:
  DeferredLog(Notify info, Notify warn) : info_(std::move(info)), warn_(std::move(warn)) {}

  // Any thread.
  void info(const std::string& line) { add(false, line); }
  void warn(const std::string& line) { add(true, line); }
  // Writes all lines since the last call, in their order. The trainer's thread.
  void write() {
    std::deque<std::pair<bool, std::string>> lines;
    {
      const std::lock_guard lock(mutex_);
      lines = std::exchange(lines_, {});
    }
    for (const auto& [warning, line] : lines) (warning ? warn_ : info_)(line);
  }

 private:
  void add(bool warning, const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(warning, line);
  }

  const Notify info_;
  const Notify warn_;
  std::mutex mutex_;
  std::deque<std::pair<bool, std::string>> lines_;
};

// Which sets of a tier may go, ascending. A pure function. `sets` are the steps on the tier, with
// the scores of those that were evaluated. `safe_step` is the newest step on the last tier: only
// older sets may go, so that there is always a newer one there; absent: none may. What stays: the
// keep_last newest, the multiples of keep_every, and the keep_best with the highest scores (of
// equals the oldest; NaN is no score).
std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options);

// What is known of a run's sets, and the removal of those that need not stay. A set is removed only
// if it is on the last tier and a newer one is there, too. Any thread.
class Retention {
 public:
  // All must outlive it.
  Retention(const CheckpointOptions& options, const SaveTiers& tiers, DeferredLog& log)
      : options_(options), tiers_(tiers), log_(log) {}

  // The score of a set's state; absent: it was not evaluated.
  void add_score(int64_t step, std::optional<double> score);
  // The set of this step is committed on the first tier; one that it replaced may be on the last.
  void committed(int64_t step, std::optional<double> score);
  // The set of this step is committed on the last tier, and was verified where the options ask for
  // that.
  void reached_last(int64_t step);
  // The last tier has a set of this step, which does not count as the newest durable one.
  void found_on_last(int64_t step);
  bool on_last(int64_t step) const;
  // The newest step that has reached the last tier.
  std::optional<int64_t> durable_step() const;

  // Removes what need not stay on this tier. True: something was removed. A set that cannot be
  // removed is warned of once, tried again the next time, and keeps no other one. IoError where the
  // tier does not say what is there.
  bool apply(SetStore& store);
  // The fast tier is full: removes sets from it that are on the slow one as well. True: something
  // was removed.
  bool make_room();

 private:
  bool remove(SetStore& store, int64_t step);

  const CheckpointOptions& options_;
  const SaveTiers& tiers_;
  DeferredLog& log_;

  mutable std::mutex mutex_;
  std::map<int64_t, std::optional<double>> scores_;
  std::set<int64_t> on_last_;  // remembered, as the last tier may hang when it is asked
  std::optional<int64_t> durable_step_;
  std::set<std::pair<const SetStore*, int64_t>> stays_;  // what could not be removed
};

}  // namespace stoker
