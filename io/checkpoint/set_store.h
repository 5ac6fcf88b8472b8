#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/read_set.h"
#include "io/checkpoint/set_writer.h"

namespace stoker {

// Who writes the directory of a store: this process alone; all of a group, of which this is the
// first, and leaves nothing to the others but the files of sets that it began; or one of those.
enum class StoreUse { own, first, guest };

// The checkpoints of one run on one tier: a directory with a set per step. Any thread, as long as
// no two work on the same step. Everything throws IoError. Reading needs no lock, and may be done
// while another process writes: a set is there as a whole or not at all. Of a set that several
// processes wrote, a directory may hold some of the files only.
class SetStore {
 public:
  // Touches nothing yet. `tree` must outlive it.
  SetStore(std::string tier, const FileTree& tree, std::string directory,
           Durability durability = Durability::fsync, StoreUse use = StoreUse::own);

  // Makes the directory, takes its lock and removes what killed processes left behind.
  // Error(ExitCode::environment): another process writes there. Does nothing the second time. A
  // guest only makes the directory.
  void open_for_writing();
  bool is_open() const { return open_; }
  // remove(), set_aside() and point_latest() are the first one's to do: nothing happens here.
  bool guest() const { return use_ == StoreUse::guest; }
  bool shared() const { return use_ != StoreUse::own; }
  // Moves the sets of another directory of the tier here, if no process uses it: that of a rank
  // that is not there any more. Where both hold files of the same set, they are put together.
  void adopt(const std::string& directory);

  // The tier's name in the configuration, its files, and the directory below its root.
  const std::string& tier() const { return tier_; }
  const FileTree& tree() const { return tree_; }
  const std::string& directory() const { return directory_; }
  // Of the set of a step: from the tier's root, and from the root of the file system.
  std::string path(int64_t step) const { return directory_ + "/" + set_name(step); }
  std::string full_path(int64_t step) const { return tree_.root() + "/" + path(step); }

  std::vector<int64_t> steps() const;  // of the committed sets, ascending
  // Whether there is a committed set of this step, intact or not.
  bool has(int64_t step) const { return tree_.exists(path(step)); }
  // DamagedSet where it is not as it was written.
  Manifest manifest(int64_t step) const { return read_manifest(tree_, path(step)); }

  // Reads these files of the set of manifest.step and hands their chunks to `sink`. DamagedSet
  // where anything in them, or in the set's manifest, is not what `manifest` says.
  void verify(const Manifest& manifest, const std::vector<size_t>& files, int64_t threads,
              const ChunkSink& sink) const;

  // Disappears in one step for every reader; then its space is freed. Two threads may remove the
  // same: a save and a drain both find what is no longer needed.
  void remove(int64_t step);
  // Renames a set so that restoring no longer considers it, and nothing is lost:
  // "damaged-step-...", "superseded-step-...". Returns the new path.
  std::string set_aside(int64_t step, const std::string& why);
  // Rewrites the file `latest`, which names the newest set for people and scripts (and that of
  // TensorFlow's Saver, which names all). Restoring does not trust it.
  void point_latest();

 private:
  // Takes the lock and clears the directory. False: another process has it.
  bool lock();
  void adopt_set(const std::string& from, int64_t step);
  void replace_text(const std::string& name, const std::string& text);

  const std::string tier_;
  const FileTree& tree_;
  const std::string directory_;
  const bool sync_;
  const StoreUse use_;
  bool open_ = false;
  FileDescriptor lock_;
  std::mutex removal_;
  std::mutex latest_;  // else an older list could replace a newer one
};

}  // namespace stoker
