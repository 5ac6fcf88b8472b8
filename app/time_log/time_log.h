#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace stoker {

// A stretch of time, in a unit of the caller's choice; integers, so that sums are exact.
struct TimeSpan {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const TimeSpan&) const = default;
};
// "United": ascending, apart from one another, none of them empty.
// All functions are pure; any thread.
using TimeSpans = std::vector<TimeSpan>;

// Time that lies in at least one of any spans, united. Spans that end before they begin are empty.
TimeSpans unite(TimeSpans spans);
// Time that lies in both; both united, and so is the result.
TimeSpans intersect(const TimeSpans& a, const TimeSpans& b);
// Time that lies in `a` and not in `b`; both united, and so is the result.
TimeSpans subtract(const TimeSpans& a, const TimeSpans& b);
// The sum of their lengths. For a united set, it is the time that the set covers.
int64_t total(const TimeSpans& spans);

// A record of the TimeLogger of Chowdhury et al. (2018), by our sink `timelogger` or by theirs. A
// value.
struct TimeLogRecord {
  int64_t epoch = -1;  // for a checkpoint: its step; -1: not known
  int64_t rank = -1;   // -1: all ranks
  std::string description;
  TimeSpan span;         // UNIX microseconds
  int64_t taken_us = 0;  // as it is written: theirs has finer durations than stamps
};

// The records of one or more files. A value.
struct TimeLog {
  // A line that is no record, and why.
  struct BadLine {
    std::string path;
    int64_t number = 0;  // from 1
    std::string reason;
  };
  std::vector<std::string> files;
  std::vector<TimeLogRecord> records;
  std::vector<BadLine> bad;
  // Those that could be records.
  int64_t lines = 0;  // without headers and empty ones
};

// Has the run with this directory the sink `timelogger`?
bool has_time_log(const std::string& run);

// Lines of nine fields; the last one may hold commas. Headers and empty lines are passed over.
// Adds to `log`, also what is no record; never throws. path: for the messages.
void read_time_log(const std::string& text, const std::string& path, TimeLog& log);

// `paths`: files, folders of such files, or run directories (the time_logger_output of all their
// ranks). Throws Error(ExitCode::environment) where there is no file, Error(ExitCode::data) where
// more than max_bad of the lines are no records.
TimeLog read_time_logs(const std::vector<std::string>& paths, double max_bad);

// What the records come to. Seconds; shares 0 to 1. `nodes` divides sums; 0: as many as there are
// ranks.
//
//   nodes, notes     what is missing or has to be known, in words
//   components       a row for each description (component) and rank: count, sum_s of the
//                    durations, union_s with at least one under way
//   hepcnnb          HEPCNNB's method: durations are summed over all ranks and epochs and divided
//                    by the nodes, the nested ones taken off the ones around them: read_s, load_s
//                    (Load File without its reads), training_s, checkpoint_s (rank 0's, not
//                    divided), read_share of all four; nested: there are Load File records, which
//                    the method takes for granted. Absent without reads or without iterations.
//   cdb              CDB's method: by epoch, reads and iterations of all ranks are united, lengths
//                    are added up over epochs, unknown ones being the first: read_s, training_s,
//                    index = read / (read + training), index_with_validation with Validation
//                    records among the iterations, as validation was in the study's; run_s from the
//                    first begin to the last end of either, read_share_of_run. The overlap of the
//                    two is not taken off, so the index is no share of any time. Beside it, what
//                    their paper left to do: read_alone_s, reads under way while no rank trained,
//                    its waits for data taken off. Absent as hepcnnb.
//   overlap          what neither published method says, a row for each rank: read_s (united) and
//                    what it was hidden behind: hidden_s beside an iteration that waited for
//                    nothing, exposed_s in a Call to Next Batch, checkpoint_s in a Checkpoint
//                    Listener, outside_s outside of iterations; waited_s of the iterations_s of
//                    its iterations, whose quotient is the blocking share. Empty without Call to
//                    Next Batch records: nothing tells waiting from training then.
//   read_union_s     of all ranks' reads together
nlohmann::json time_log_figures(const TimeLog& log, int64_t nodes);

// The spans of the records' reads, united.
TimeSpans reads_of(const TimeLog& log);

}  // namespace stoker
