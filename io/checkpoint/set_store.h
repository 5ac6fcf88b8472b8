#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/read_set.h"
#include "io/checkpoint/set_writer.h"

namespace stoker {

// The checkpoints of one run on one tier: a directory with a set per step. Any thread, where no two
// work on the same step. Everything throws IoError.
class SetStore {
 public:
  // Touches nothing. `tree` must outlive it.
  SetStore(std::string tier, const FileTree& tree, std::string directory);

  // Makes the directory, takes its lock and removes what killed processes left behind.
  // Error(ExitCode::environment): another process writes there. Does nothing the second time.
  void open_for_writing();

  const std::string& tier() const { return tier_; }
  const FileTree& tree() const { return tree_; }
  const std::string& directory() const { return directory_; }
  std::string path(int64_t step) const { return directory_ + "/" + set_name(step); }
  std::string full_path(int64_t step) const { return tree_.root() + "/" + path(step); }

  std::vector<int64_t> steps() const;  // of the committed sets, ascending
  bool has(int64_t step) const { return tree_.exists(path(step)); }
  Manifest manifest(int64_t step) const { return read_manifest(tree_, path(step)); }

  // In one step for every reader; then its space is freed.
  void remove(int64_t step);
  // Renames a set so that it is no candidate any more, and nothing is lost: "damaged-step-...",
  // "superseded-step-...". Returns the new path.
  std::string set_aside(int64_t step, const std::string& why);
  // A file that names the newest set, for people and scripts; restoring does not trust it.
  void point_latest(int64_t step, Durability durability);

 private:
  void replace_text(const std::string& name, const std::string& text, bool sync);

  const std::string tier_;
  const FileTree& tree_;
  const std::string directory_;
  FileDescriptor lock_;
};

}  // namespace stoker
