#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/analysis/intervals.h"

namespace stoker {

// A record of the TimeLogger of Chowdhury et al. (2018), by our sink `timelogger` or by theirs. A
// value.
struct TimeLogRecord {
  int64_t epoch = -1;  // of a checkpoint: its step; -1: not known
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
  int64_t lines = 0;  // without headers and empty ones
};

// Lines of nine fields; the last one may hold commas. Headers and empty lines are passed over.
void read_time_log(const std::string& text, const std::string& path, TimeLog& log);

// `paths`: files, folders of such files, or run directories (their time_logger_output). Throws
// Error(ExitCode::environment) where there is no file, Error(ExitCode::data) where more than
// max_bad of the lines are no records.
TimeLog read_time_logs(const std::vector<std::string>& paths, double max_bad);

}  // namespace stoker
