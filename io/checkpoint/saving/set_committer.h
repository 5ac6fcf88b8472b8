#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/saving/progress_watch.h"
#include "io/checkpoint/saving/snapshot.h"
#include "io/checkpoint/sets/set_store.h"

namespace stoker {

// The time now as a manifest has it: 2026-11-21T13:40:00.123Z. Any thread.
std::string utc_now();

// A save on its way: a slot, and the state that is copied into it.
struct SaveJob {
  std::unique_ptr<Snapshot> slot;  // null: this process leaves the checkpoint out
  TrainingState state;
  TimePoint offered;
  bool replaces = false;   // a set of the step, where one is there
  std::string error = {};  // of the copy
};

// How one save ended: committed on the first tier, or not. A value.
struct SaveResult {
  int64_t step = 0;
  std::optional<double> score;
  TimePoint offered;
  double seconds = 0;  // from the offer

  std::string error;     // empty: committed
  bool skipped = false;  // by another process of the group
};

// Makes a committed set of a snapshot: writes it to the first tier, and commits it together with
// the other processes of the group. Where the store is shared, all write into one set; else each
// writes its own files to its own store. What fails on one process has failed on all. The saver's
// writing thread.
class SetCommitter {
 public:
  // All that it refers to must outlive it.
  struct Inputs {
    SetStore& store;
    const SetLayout& layout;
    const CheckpointOptions& options;
    RankGroup& group;
    FileRange own;                    // files of the layout that this process writes
    ProgressWatch& watch;             // hears of every piece that was written
    const std::atomic<bool>& stop;    // true: what is not committed is given up
    std::function<bool()> make_room;  // Saver::Hooks
  };
  explicit SetCommitter(const Inputs& inputs);

  // Never throws what a tier or another process does: the result says it.
  SaveResult commit(const SaveJob& job);

 private:
  void attempt(const SaveJob& job, int number);
  Manifest write(const SaveJob& job, const std::string& set, std::unique_ptr<SetWriter>& writer);
  PartSums write_own(const SaveJob& job, SetWriter& writer);
  void write_data(Snapshot& slot, SetWriter& writer);
  void write_piece(SetWriter& writer, size_t file, uint64_t offset, Bytes bytes, Uring* queue);
  bool ready(const SaveJob& job) const;
  void verify(const SaveJob& job, const Manifest& manifest);
  std::string or_make_room(const std::function<std::string()>& work) const;

  const Inputs inputs_;
  const CheckpointOptions& options_;
  const int64_t threads_;
  const std::string writer_id_;
  std::string failed_;  // why the attempt before failed
  Collective collective_;
};

}  // namespace stoker
