#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/tools/run_program/program_io.h"
#include "app/tools/run_program/verdict/program_roles.h"
#include "app/tools/run_program/verdict/time_split.h"
#include "app/tools/run_program/watch/samples.h"

namespace stoker {

// What holds a program up that knows nothing of us, and what shows it. A value.
struct ProgramVerdict {
  // Absent: it was too short to say anything.
  std::optional<Bound> bound;
  std::string what;   // one sentence
  std::string where;  // folder, file system, process, rank; empty: there is nothing to name
  double share = 0;   // of the time of the main thread, or of the ranks'
  // Share of the time that would be saved if nothing of it were left; the rest of the program is
  // then as slow as it is, so it is never more.
  double gain_at_most = 0;
  std::vector<std::string> evidence;  // a line each
  std::string next;                   // the next step to try
  // All causes with more than a thousandth of the time, the largest first.
  struct Cause {
    Bound bound = Bound::unknown;
    double share = 0;
  };
  std::vector<Cause> causes;
  double judged_s = 0;  // of the time; what a program takes to begin is left out
};

// Judges a program by what was seen of it and what it did on files. A pure function.
ProgramVerdict judge_program(const ProgramSamples& samples, const ProgramIo& io);

// What the words of a verdict are made from. A value that refers to others.
struct VerdictMatter {
  const ProgramSamples& samples;
  const ProgramIo& io;
  const ProgramRoles& roles;
  std::vector<TimeSplit> splits;  // of the ranks
  size_t rank = 0;                // the one that decides
  bool straggles = false;         // it is one for which the others wait
};
// Files of data that threads were blocked on, most time first; not libraries and modules.
std::vector<BlockedOn> data_files(const ProgramSamples& samples);
// Fills in what, where, evidence and next. verdict: with its bound and shares.
void put_into_words(const VerdictMatter& matter, ProgramVerdict& verdict);

// All that was seen of a program, as `--json` prints it and as it is kept beside the log for the
// page of `stoker report`: {schema_version, command, exit_code, seconds, verdict, processes,
// threads, course, files, notes}. Pure functions.
nlohmann::json program_record(const ProgramSamples& samples, const ProgramIo& io,
                              const ProgramVerdict& verdict);
// The same for a terminal: verdict, evidence, causes, threads, files.
std::string program_text(const ProgramSamples& samples, const ProgramIo& io,
                         const ProgramVerdict& verdict);

// Where the record of a log is kept: OUT.darshan has OUT.json.
std::string record_beside(const std::string& log);

}  // namespace stoker
