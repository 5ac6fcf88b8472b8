#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/checkpoint/saving/set_writer.h"
#include "io/core/error.h"
#include "io/storage/storage.h"

namespace stoker {

// Sets as objects of a tier without files, such as a bucket: by create, append, commit, list, read
// and remove only. All data of a set are committed under "step-<n>-<random>/", then its manifest:
// the set is there from then on. Removing begins with the manifest. Nothing is renamed: a set is
// set aside by one more object, "aside.damaged". No key of a set is ever written twice, but by its
// own writer before the commit, so that nobody can damage what is committed. A set that replaces
// another of its step sets that one aside, and then removes it.
//
// One process writes, the last one that claimed the directory by an object "writer-<number>-...".
// It says of which run, and another run's directory is refused. A process of this machine that
// still lives is found and left alone; one on another machine is believed dead: its next commit,
// removal or setting aside fails then (NoRetry), and says who writes there now. What it had begun
// was removed with what killed processes left.
class ObjectSets final : public SetDirectory {
 public:
  // `objects` must outlive it. `run` is the run's name; `tier` is for messages. guest: claim() does
  // nothing, for the first process of the group has it. warn may be empty.
  ObjectSets(std::string tier, Storage& objects, std::string directory, std::string run, bool guest,
             Notify warn);

  // Error(ExitCode::config) where the directory is another run's. What cannot be removed, as where
  // only creating is allowed, stays, and is warned of once.
  void claim() override;
  std::unique_ptr<SetWriter> begin(int64_t step, const std::string& place) override;
  void remove(int64_t step) override;
  std::string set_aside(int64_t step, const std::string& why) override;
  void replace_text(const std::string& name, const std::string& text) override;

 private:
  std::vector<std::string> claims() const;  // keys, the last one's last
  void refuse_others(const std::string& key) const;
  std::string owner_of(const std::string& key, std::string& run) const;
  // NoRetry where another process has claimed the directory.
  void check_owner() const;
  std::vector<std::string> unfinished() const;  // keys
  void discard(const std::vector<std::string>& keys);

  const std::string tier_;
  Storage& objects_;
  const std::string directory_;
  const std::string run_;
  const bool guest_;
  const Notify warn_;
  std::string claim_;    // its key
  FileDescriptor life_;  // what others on this machine see while the process lives
};

}  // namespace stoker
