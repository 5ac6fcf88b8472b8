#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/analysis/timelogger.h"

namespace stoker {

// Of one component (Action Description) on one rank. A value. Seconds.
struct ComponentFigures {
  int64_t count = 0;
  double sum_s = 0;    // of the durations
  double union_s = 0;  // time with at least one under way
};

// HEPCNNB's method: durations are summed over all ranks and epochs and divided by the nodes, the
// nested ones taken off the ones around them. Checkpoints are rank 0's and not divided.
struct NestedFigures {
  double read_s = 0;
  double load_s = 0;  // Load File without its reads
  double training_s = 0;
  double checkpoint_s = 0;
  double read_share = 0;  // read / (read + load + training + checkpoint)
  bool nested = false;    // there are Load File records: what the method takes for granted
};

// CDB's method: by epoch, reads and iterations of all ranks are united; lengths are added up over
// epochs, unknown ones being the first. The overlap of the two is not taken off, so the index is no
// share of any time.
struct MergedFigures {
  double read_s = 0;
  double training_s = 0;
  double index = 0;  // read / (read + training)
  double run_s = 0;  // first begin to last end of either
  double read_share_of_run = 0;
};

// What neither published method says: what the reads of a rank (united) were hidden behind.
struct OverlapFigures {
  double read_s = 0;
  double hidden_s = 0;      // beside an iteration that waited for nothing
  double exposed_s = 0;     // in a Call to Next Batch
  double checkpoint_s = 0;  // in a Checkpoint Listener
  double outside_s = 0;     // outside of iterations
};

struct TimeLogFigures {
  int64_t nodes = 1;
  std::map<std::pair<std::string, int64_t>, ComponentFigures> components;  // by name and rank
  std::optional<NestedFigures> nested;  // absent without reads or without iterations
  std::optional<MergedFigures> merged;
  // By rank. Absent where there are no Call to Next Batch records: nothing tells waiting from
  // training then.
  std::map<int64_t, OverlapFigures> overlap;
  // Of all ranks' reads together.
  double read_union_s = 0;
  std::vector<std::string> notes;
};

// nodes 0: as many as there are ranks.
TimeLogFigures time_log_figures(const TimeLog& log, int64_t nodes);

void to_json(nlohmann::json& json, const TimeLogFigures& figures);

}  // namespace stoker
