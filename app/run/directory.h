#pragma once

#include <string>
#include <vector>

#include "app/experiment/experiment_options.h"
#include "io/core/ranks/rank_group.h"

namespace stoker {

// The directory of one run: <dir>/<name>-<time>-<pid>-<random>. Never one that exists already; the
// link <dir>/latest points to the newest. It is rank 0's; that of rank n is rank-n in it. One
// thread at a time. Throws IoError. The directory stays when the object ends.
class RunDirectory {
 public:
  // Makes the directory, and its parents, and writes config.yaml (resolved) and overrides.
  RunDirectory(const ExperimentOptions& options, const std::vector<std::string>& overrides,
               RankGroup& group);

  // The path as run.dir gives it, which may be relative.
  const std::string& path() const { return path_; }
  // Writes a whole file durably: complete under its name or not there at all.
  void write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace stoker
