#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// What the command line of `stoker sweep` says. A value.
struct SweepArguments {
  std::string file;
  std::vector<std::string> overrides;  // overrides of the sweep file
  std::vector<std::string> set;        // overrides of every run, after those of the file
  std::string directory;               // for the results; empty: sweeps/<name>
  std::vector<std::string> only;       // "AXIS=VALUE[,VALUE]": the part to run; empty: all
  bool shorten = false;                // run the short form
  bool restart = false;                // throw away what is there
  bool report_only = false;            // run nothing; print what is there
  bool check = false;                  // check every cell, print them, run nothing
  bool json = false;
};

// Reads a command line of this program ("bench", "read", "CONFIG", ...) and runs nothing. Error
// where it is not as it has to be.
using CheckWords = std::function<void(const std::vector<std::string>& words)>;

// What came of a sweep. A value.
struct SweepOutcome {  // NOLINT(bugprone-exception-escape): nlohmann::json's move
  ExitCode code = ExitCode::ok;
  bool interrupted = false;  // by a signal, whose exit code it has
  nlohmann::json results;    // results_json(); null after a check
  std::string conditions;    // conditions_text()
  std::string text;          // for people
};

// Runs what is still to be run, and prints nothing on standard output. See sweep().
SweepOutcome sweep_once(const SweepArguments& arguments, const CheckWords& check);

// `stoker sweep`: runs what is still to be run and prints the results. ExitCode::threshold where a
// finding is outside its limits; else the exit code of the first run that failed; else ok. Where a
// signal ended it, the signal's. A later call with the same directory goes on where this one ended:
// runs that went well are not repeated. Everything is checked before the first run.
//
// Throws Error: `config` for a sweep or a cell that is wrong, or a directory with results of
// another definition; `environment` where the directory is in use or cannot be written. One call at
// a time in a process, as it sets variables that cells and preparations use and takes the signals.
ExitCode sweep(const SweepArguments& arguments, const CheckWords& check);

}  // namespace stoker
