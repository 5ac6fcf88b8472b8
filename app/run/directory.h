#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"
#include "io/core/system/file.h"

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

}  // namespace stoker
