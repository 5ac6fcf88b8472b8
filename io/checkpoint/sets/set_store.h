#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/saving/set_writer.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/core/error.h"
#include "io/core/ranks/rank_group.h"

namespace stoker {

// Who writes the directory of a store: this process alone; all of a group, of which this is the
// first, and leaves nothing to the others but the files of sets that it began; or one of those.
enum class StoreUse { own, first, guest };

// How a store is written. Whoever only reads needs none of it. A value.
struct StoreOptions {
  std::string run = {};  // the name of the run that writes, where sets are objects
  Durability durability = Durability::fsync;  // of files
  StoreUse use = StoreUse::own;
  Notify warn = {};  // told what a tier lacks or keeps from being removed; any thread; may be empty
};

// The checkpoints of one run on one tier: a directory with a set per step, of files (FileSets) or
// of objects (ObjectSets). Any thread, as long as no two work on the same step. Everything throws
// IoError. Reading needs no lock, and may be done while another process writes: a set is there as a
// whole or not at all. Of a set that several processes wrote, a directory may hold some of the
// files only.
class SetStore {
 public:
  // Touches nothing yet. The tier must outlive it.
  SetStore(std::string tier, const FileTree& tree, std::string directory,
           const StoreOptions& options = {});
  // On a tier without files.
  SetStore(std::string tier, Storage& objects, std::string directory,
           const StoreOptions& options = {});

  // Makes the directory this process's own and removes what killed processes left behind; what
  // cannot be removed stays, and is warned of. Error(ExitCode::environment): another process writes
  // there. Does nothing the second time. A guest takes nothing.
  void open_for_writing();
  bool is_open() const { return open_; }
  // remove(), set_aside() and point_latest() are the first one's to do: nothing happens here.
  bool guest() const { return use_ == StoreUse::guest; }
  bool shared() const { return use_ != StoreUse::own; }
  // Begins a set. `place`: joins that of another process's writer (SetWriter::place).
  std::unique_ptr<SetWriter> begin(int64_t step, const std::string& place = "");

  // The tier's name in the configuration, its files, and the directory below its root.
  const std::string& tier() const { return tier_; }
  const SetFiles& files() const { return files_; }
  const std::string& directory() const { return directory_; }
  // The directory as messages call it.
  std::string full_directory() const { return files_.full(directory_); }
  // The set of a step: its path from the tier's root, and as messages call it. Where objects hold
  // no such set, a name that it might have.
  std::string path(int64_t step) const;
  std::string full_path(int64_t step) const { return files_.full(path(step)); }

  std::vector<int64_t> steps() const;  // of the committed sets, ascending
  // Whether there is a committed set of this step, intact or not.
  bool has(int64_t step) const { return files_.find(directory_, step).has_value(); }
  // DamagedSet where it is not as it was written.
  Manifest manifest(int64_t step) const { return read_manifest(files_, path(step)); }

  // Reads these files of the set of manifest.step and hands their chunks to `sink`. DamagedSet
  // where anything in them, or in the set's manifest, is not what `manifest` says.
  void verify(const Manifest& manifest, const std::vector<size_t>& files, int64_t threads,
              const ChunkSink& sink) const;

  // As SetDirectory's.
  void remove(int64_t step);
  std::string set_aside(int64_t step, const std::string& why);
  // Rewrites the file `latest`, which names the newest set for people and scripts (and that of
  // TensorFlow's Saver, which names all). Restoring does not trust it.
  void point_latest();

 private:
  const std::string tier_;
  const SetFiles files_;
  const std::string directory_;
  const StoreUse use_;
  const std::unique_ptr<SetDirectory> sets_;
  bool open_ = false;
  std::mutex latest_;  // else an older list could replace a newer one
};

// The store of a tier: sets are its files where it keeps files, else its objects.
std::unique_ptr<SetStore> sets_on(const std::string& tier, Storage& storage,
                                  const std::string& directory, const StoreOptions& options = {});

// Another process of the group failed at what all do in step; this one did not.
class OtherFailed final : public Error {
 public:
  OtherFailed(const std::string& what, bool again)
      : Error(ExitCode::storage, what), again_(again) {}
  // All may try again.
  bool again() const { return again_; }

 private:
  bool again_;
};

// What all processes that write a set do in step: one channel of their group, and the thread that
// it belongs to. The group must outlive it.
class Collective {
 public:
  // go_on: where it is false, waiting for the others ends (RankLost).
  Collective(RankGroup& group, const std::string& channel, std::function<bool()> go_on);

  bool first() const { return group_.first(); }
  RankGroup& group() const { return group_; }
  // Every process does `work`, and gets what each returned, in the order of the ranks. Where one
  // throws, all do: it its own exception, the others OtherFailed. `what` has to be the same on all.
  std::vector<std::string> all(const std::string& what, const std::function<std::string()>& work);
  // The same where only the first has something to do. Returns what that returned, on all.
  std::string first_only(const std::string& what, const std::function<std::string()>& work);

 private:
  RankGroup& group_;
  const std::string channel_;
  const std::function<bool()> go_on_;
};

}  // namespace stoker
