#pragma once

#include <atomic>
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
#include "io/checkpoint/drain/drain.h"
#include "io/checkpoint/drain/save_rhythm.h"
#include "io/checkpoint/restoring/locate.h"
#include "io/checkpoint/saving/saver.h"
#include "io/metrics/checkpoint_meter.h"

namespace stoker {

// What every checkpointer that writes is made of: when a checkpoint is due, the saver, the drain
// where there are two tiers, retention, restoring, and the news of all of them. direct and
// burst_buffer only say which tiers. Contract and thread rule: Checkpointer's; the threads of Saver
// and Drain report under `mutex_`.
class Engine : public Checkpointer {
 public:
  // Writes to the fast tier and drains to the slow one, or to the slow one at once. Restores from
  // every tier that is named, so that a run may go on with the other checkpointer.
  enum class WriteTo { fast, slow };
  // Allocates and faults in the snapshot buffers, and starts the threads. Touches no tier before
  // load(). What `inputs` refers to must outlive it. Error(ExitCode::config) where the fast tier of
  // many ranks keeps no files; std::bad_alloc where the buffers do not fit.
  Engine(const CheckpointOptions& options, const Inputs& inputs, WriteTo write_to);
  // Gives up what is not committed or drained yet; call flush() before. Blocks while a thread is in
  // a system call of a tier.
  ~Engine() override;

  std::optional<LoadedState> load() final;
  bool save(const CheckpointOffer& offer, const std::function<TrainingState()>& state) final;
  std::optional<StatePlaces> finish_copy() final;
  bool flush() final;
  CheckpointStatus status() final;

 private:
  // The tier that a save waits for, and the one where sets stay; one and the same for `direct`.
  SetStore& first() { return write_to_ == WriteTo::fast ? *stores_.front() : *stores_.back(); }
  SetStore& last() { return *stores_.back(); }
  void add_store(const std::string& tier, const Inputs& inputs, bool shared);
  // Restoring (restore.cpp): the trainer's thread, but for last_appeared().
  void open();
  void refuse_to_begin_on(const std::set<int64_t>& steps);
  void adopt(SetStore& store);
  std::vector<int64_t> steps_of(const SetStore& store);
  std::set<int64_t> all_steps();
  std::set<int64_t> steps_of_all(const std::string& what, const std::set<int64_t>& own);
  std::optional<LoadedState> newest_intact();
  LoadedState load_path(const std::string& path);
  LoadedState read_path(const std::string& path, bool others);
  std::optional<LoadedState> try_load(int64_t step);
  std::optional<LoadedState> read(const LocatedSet& set);
  void refuse(size_t store, int64_t step, const Error& error);
  void set_aside(SetStore& store, int64_t step, const std::string& why);
  void read_score(const SetStore& store, int64_t step);
  void continue_from(int64_t step);
  void last_appeared();

  // Whether a checkpoint has to be taken now, and whether it would be done before the deadline.
  bool due(const CheckpointOffer& offer);
  bool in_time(const CheckpointOffer& offer);
  // For the drain, on its threads.
  std::optional<TimePoint> next_save() const;
  // Tells it, after an offer.
  void note_rhythm(int64_t step, bool begun);
  // What the threads report, each on its own thread, without the mutex.
  void measured(CheckpointPart part, TimePoint begin, int64_t step);
  void saved(const SaveResult& result);
  void drained(int64_t step, TimePoint begin, const std::string& remark);
  void drain_failed(int64_t step, const std::string& error, bool again);
  bool apply_retention(SetStore& store);
  bool make_room();
  bool on_last(int64_t step);

  // Keeps a line for the log; report_news() writes the lines, on the trainer's thread only.
  void news(bool warning, const std::string& text);
  void report_news();

  const CheckpointOptions options_;
  std::optional<TimePoint> deadline() const;

  const std::function<std::optional<TimePoint>()> stop_requested_;
  const Notify info_;
  const Notify warn_;
  CheckpointMeter* const meter_;  // may be null

  RankGroup& group_;
  Collective collective_;  // the trainer's thread
  const std::string directory_;
  const WriteTo write_to_;
  uint64_t own_bytes_ = 0;                         // of a set, what this process writes
  std::vector<std::unique_ptr<SetStore>> stores_;  // the fast tier's, where there is one, first
  std::set<std::pair<size_t, int64_t>> refused_;   // sets of stores that were not to be read
  int64_t start_step_ = -1;                        // of the set that was loaded
  int64_t last_step_ = -1;                         // of the newest save that began
  std::optional<TimePoint> last_begin_;            // or the start; of the offers' clock
  SaveRhythm rhythm_;
  std::atomic<Clock::rep> next_save_{0};  // 0: not known

  std::mutex mutex_;  // what the threads report
  CheckpointStatus status_;
  bool write_failed_ = false;  // the last attempt
  bool drain_failed_ = false;
  int64_t lost_step_ = -1;  // of the newest save that failed
  std::map<int64_t, std::optional<double>> scores_;
  std::set<int64_t> on_last_;  // remembered, as the last tier may hang when it is asked
  std::deque<std::pair<bool, std::string>> news_;

  std::unique_ptr<Drain> drain_;  // last: their threads use the rest
  std::unique_ptr<Saver> saver_;
};

}  // namespace stoker
