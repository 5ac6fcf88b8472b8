#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/core/batch.h"
#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/system/file.h"
#include "io/sinks/output_file.h"

namespace stoker {

// The directory of one run: <dir>/<name>-<time>-<pid>-<random>. Never one that exists already; the
// link <dir>/latest points to the newest that was kept. It is rank 0's; that of rank n is rank-n in
// it. In use (is_in_use()) as long as the object lives. One thread at a time. Throws IoError. A
// directory that was not kept goes with the object: a start that failed leaves nothing behind.
class RunDirectory {
 public:
  // Makes the directory, and its parents, and writes config.yaml (resolved) and overrides. warn: is
  // told if there can be no link.
  RunDirectory(const ExperimentOptions& options, const std::vector<std::string>& overrides,
               RankGroup& group, Notify warn);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // The run has begun: the directory stays, and `latest` points to it from now on.
  void keep();

  // The path as run.dir gives it, which may be relative.
  const std::string& path() const { return path_; }
  // Writes a whole file durably: complete under its name or not there at all. Where somebody has
  // renamed the directory, it is written there; one that was removed is not made again.
  void write(const std::string& name, const std::string& text) const;
  // What has become of the directory, in words, if somebody has renamed or removed it since. Empty:
  // nothing.
  std::string moved() const;

 private:
  // Makes the directory, and its parents.
  RunDirectory(const ExperimentOptions& options, RankGroup& group, Notify warn);
  // Where the directory is now. Absent: it was removed.
  std::optional<std::string> place() const;
  bool is_at(const std::string& path) const;

  std::string path_;
  Notify warn_;
  bool first_ = false;  // of the ranks
  bool kept_ = false;
  FileDescriptor held_;
  struct stat made_ {};
};

// digests.csv in the run directory: a row per batch where loader.digest is on. The chain is one
// digest of all batches in their order, over all processes of a run: equal chains mean that every
// byte was equal. One thread at a time.
class DigestLog {
 public:
  // warn: is told once if the file cannot be written.
  DigestLog(const std::string& directory, Notify warn)
      : path_(directory + "/digests.csv"), warn_(std::move(warn)) {}

  // Appends a row of a batch, of whose samples these are the digests (Batch::digests of all ranks);
  // makes the file at the first one. From the first row that cannot be written on, only the chain
  // counts.
  void add(const Batch& batch, const std::string& digests);
  // The error of the write that failed. Empty: everything was written.
  const std::string& error() const { return error_; }
  // The chain. Empty: there were no digests.
  const std::string& chain() const { return chain_; }
  // Goes on from the chain of an earlier process.
  void resume(const std::string& chain) { chain_ = chain; }

 private:
  void write(const std::string& row);

  const std::string path_;
  const Notify warn_;
  std::optional<OutputFile> file_;
  std::string error_;
  std::string chain_;
};

}  // namespace stoker
