#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "io/checkpoint/saving/set_writer.h"
#include "io/core/error.h"
#include "io/storage/file_tree.h"

namespace stoker {

// Sets as directories of files. A set is written so:
//   1. begin() makes ".tmp-step-<n>-<random>";
//   2. add_file() makes a file and reserves its space, so that a full disk shows before any byte
//      moves; write() fills it; finish() syncs every file;
//   3. commit() writes and syncs the manifest, syncs the directory, renames it to "step-<n>", syncs
//      the parent. Where it replaces a set of its step, it exchanges the two names, and the old set
//      is removed after that.
// The directory is a process's own by a lock that the kernel releases when it dies. A set is set
// aside by a rename: "damaged-step-...", "superseded-step-...".
//
// What a file system lacks is done without, and said once: locks, direct I/O. What nobody needs and
// cannot be removed stays, which is said once, too: a folder that somebody made in a set, a file
// that NFS keeps for whoever has it open. Every later claim() tries again.
class FileSets final : public SetDirectory {
 public:
  // `tree` must outlive it. `tier` is for messages. guest: claim() only makes the directory. warn
  // may be empty.
  FileSets(std::string tier, const FileTree& tree, std::string directory, Durability durability,
           bool guest, Notify warn);

  // Error(ExitCode::environment) also where the file system cannot sync directories, and the
  // durability is fsync.
  void claim() override;
  std::unique_ptr<SetWriter> begin(int64_t step, const std::string& place) override;
  void remove(int64_t step) override;
  std::string set_aside(int64_t step, const std::string& why) override;
  void replace_text(const std::string& name, const std::string& text) override;

  // Moves the sets of another directory of the tier here, if no process uses it: that of a rank
  // that is not there any more. Where both hold files of the same set, they are put together.
  void adopt(const std::string& directory);

 private:
  // Takes the lock and clears the directory. False: another process has it.
  bool lock();
  void adopt_set(FileSets& from, int64_t step);
  // Removes what nobody needs.
  void discard(const std::string& path);
  // The first line about `what`.
  void warn_once(const std::string& what, const std::string& line);
  std::string path(int64_t step) const { return directory_ + "/" + set_name(step); }

  const std::string tier_;
  const FileTree& tree_;
  const std::string directory_;
  const Durability durability_;
  const bool sync_;
  const bool guest_;
  const Notify warn_;
  FileDescriptor lock_;  // none also where there are no locks
  std::mutex removal_;
  std::mutex warning_;
  std::set<std::string> warned_;
};

}  // namespace stoker
