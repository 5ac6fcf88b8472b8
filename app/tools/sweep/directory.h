#pragma once

#include <string>

#include "app/tools/sweep/results.h"
#include "io/core/system/file.h"

namespace stoker {

// "error: ..." where the program that wrote this log said so, else what it said last.
std::string last_line(const std::string& log);

// The file of the experiment of a sweep in `directory`: SweepDirectory::base(), before there is
// one.
std::string base_file(const SweepOptions& options, const std::string& directory);

// The directory of a sweep, of one process at a time:
//   sweep.yaml    the sweep with every default
//   base.yaml     the experiment, where the sweep file holds it
//   results.json  everything so far; replaced as a whole after every run
//   results.csv   likewise, a row per run
//   logs/, runs/  a log per run; run directories
//   mounts/       where tiers are mounted while cells run (SweepMounts)
//   running.json  the run that is under way, as kUnderWay says
// One thread. Throws IoError, and Error(ExitCode::environment) where another process has it or
// `path` is a directory of something else.
class SweepDirectory {
 public:
  // Which run is under way, and which run directories were there before. So a run that ended well
  // in the moment in which the sweep was killed need not be done again.
  static constexpr const char* kUnderWay = "running.json";

  // restart: removes what an older sweep left there. What cannot be removed stays, which standard
  // error says, but for the results: IoError. Where there are no file locks, it says that, too.
  SweepDirectory(const SweepOptions& options, const std::string& path, bool restart);
  SweepDirectory(const SweepDirectory&) = delete;
  SweepDirectory& operator=(const SweepDirectory&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // The experiment's file.
  std::string base() const;
  // Writes sweep.yaml and base.yaml, as the sweep is now.
  void write_definition() const;
  // The results in results.json. Empty if nothing was run yet.
  SweepResults results() const;
  // Writes results.json and results.csv, each whole and durable.
  void write(const SweepPlan& plan, const SweepResults& results) const;
  // Writes a file in this directory, whole and durable.
  void write_file(const std::string& name, const std::string& text) const;
  // A path in this directory, relative to it. Other paths stay as they are.
  std::string relative(const std::string& path) const;

 private:
  void lock();
  void throw_away() const;

  const SweepOptions& options_;
  std::string path_;
  FileDescriptor lock_;
};

// A directory for what runs need and nobody wants to keep, such as checkpoints: configurations find
// it as ${STOKER_SCRATCH}. It lies below the directory that STOKER_SCRATCH named before, else in
// the sweep's; what a killed sweep of this name left there is used again. It is locked, so that
// another sweep of this name has another one, whose name ends with a number. Goes with its last
// run.
class Scratch {
 public:
  // Sets the environment variable, until it goes. Touches no file until clear().
  Scratch(const std::string& sweep_directory, const std::string& name);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Makes it where it is not there yet, and removes what the last run left there. IoError;
  // Error(ExitCode::environment) where too many others have one of this name.
  void clear();

 private:
  // False: another sweep, or another user, has it.
  bool take(const std::string& path);

  std::string path_;
  std::string before_;
  FileDescriptor held_;  // the folder, with its lock
};

}  // namespace stoker
