#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/drain/drain.h"
#include "io/checkpoint/restoring/restore.h"
#include "io/checkpoint/saving/save_schedule.h"
#include "io/checkpoint/saving/save_tiers.h"
#include "io/checkpoint/saving/saver.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// The checkpointer behind `direct` and `burst_buffer`, which only say which tier is written to: it
// joins schedule, saver, drain, retention and restorer, and counts what becomes of each set.
// Contract and thread rule: Checkpointer's.
class TieredSaves : public Checkpointer {
 public:
  // Allocates and faults in the snapshot buffers, and starts the threads. Touches no tier before
  // load(). What `inputs` refers to must outlive it. Error(ExitCode::config) where the fast tier of
  // many ranks keeps no files; std::bad_alloc where the buffers do not fit.
  TieredSaves(const CheckpointOptions& options, const Inputs& inputs, WriteTo write_to);
  // Gives up what is not committed or drained yet; call flush() before. Blocks while a thread is in
  // a system call of a tier.
  ~TieredSaves() override;

  std::optional<LoadedState> load() final;
  bool save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) final;
  std::optional<StatePlaces> finish_copy() final;
  bool flush() final;
  CheckpointStatus status() final;

 private:
  Drain::Hooks drain_hooks(const Inputs& inputs);
  bool due(const CheckpointOffer& offer);
  bool in_time(int64_t step);
  void skip(const CheckpointOffer& offer);
  void left_out(const CheckpointOffer& offer, Saver::Begun why);
  void wait_for_commit(int64_t step, TimePoint begin);
  // What the threads report, each on its own thread, without the mutex.
  void saved(const SaveResult& result);
  void not_saved(const SaveResult& result);
  void drained(int64_t step, TimePoint begin, const std::string& remark);
  void drain_failed(int64_t step, const std::string& error, bool again);
  void measured(CheckpointPart part, TimePoint begin, int64_t step);
  // Removes what need not stay on a tier, and points `latest` at its newest set where something was
  // removed, or `moved`. A failure costs space, or a hint for people, and nothing else.
  void tidy(SetStore& store, bool moved);

  const CheckpointOptions options_;
  CheckpointMeter* const meter_;  // may be null
  RankGroup& group_;
  DeferredLog log_;
  const SaveTiers tiers_;
  Retention retention_;
  SaveSchedule schedule_;
  const std::optional<int64_t> goes_on_from_;
  uint64_t own_bytes_ = 0;  // of a set, what this process writes

  std::mutex mutex_;  // what the threads report
  CheckpointStatus status_;
  bool write_failed_ = false;  // the last attempt
  bool drain_failed_ = false;
  int64_t lost_step_ = -1;  // of the newest save that failed, or that a rank left out
  std::set<const SetStore*> untidy_;

  Restorer restorer_;
  std::unique_ptr<Drain> drain_;  // last: their threads use the rest
  std::unique_ptr<Saver> saver_;
};

}  // namespace stoker
