#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpoint_options.h"
#include "io/checkpoint/restoring/loaded_state.h"
#include "io/checkpoint/restoring/locate.h"
#include "io/checkpoint/saving/save_tiers.h"
#include "io/checkpoint/sets/set_store.h"

namespace stoker {

// What a run begins with. A value.
struct Restored {
  std::optional<LoadedState> state;    // empty: it begins at step 0
  bool saved = false;                  // that state need not be saved again
  std::vector<int64_t> to_drain = {};  // steps of sets on the fast tier only
  std::string absent = {};             // why a tier cannot be used now; empty: all can
};

// Finds the state that a run begins with, as checkpoint.resume says. The trainer's thread, but for
// last_appeared().
class Restorer {
 public:
  // room: memory into which a set may be read. All must outlive it.
  Restorer(const CheckpointOptions& options, const SaveTiers& tiers, RankGroup& group,
           std::function<Room()> room, Retention& retention, DeferredLog& log);

  // Opens the tiers, and does what Checkpointer::load says. Once. The retention knows all sets that
  // are on the last tier then. goes_on_from: Checkpointer::Inputs'.
  Restored load(std::optional<int64_t> goes_on_from = {});
  // The last tier was absent and is there now: what is on it was not seen when this run decided
  // where to begin. After load(); the drain's thread.
  void last_appeared();

 private:
  std::string open();
  void open(SetStore& store);
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
  void continue_from(int64_t step, Restored& restored);

  const CheckpointOptions& options_;
  const SaveTiers& tiers_;
  RankGroup& group_;
  const std::function<Room()> room_;
  Retention& retention_;
  DeferredLog& log_;
  Collective collective_;
  std::set<std::pair<size_t, int64_t>> refused_;  // sets of stores that were not to be read
  int64_t start_step_ = -1;                       // of the set that the run goes on from
};

}  // namespace stoker
