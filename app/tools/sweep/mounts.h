#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/tools/sweep/directory.h"
#include "app/tools/sweep/sweep_options.h"
#include "io/core/system/child_process.h"

namespace stoker {

// The tiers that a sweep mounts for its cells, each by a `stoker mount` on mounts/NAME in the
// sweep's directory. They end with this object, and with a process that is killed. One thread.
class SweepMounts {
 public:
  // Sets the variable STOKER_MOUNT_NAME for each mount and touches no file. `options` must outlive
  // it. directory: the sweep's.
  SweepMounts(const SweepOptions& options, const std::string& directory);
  // Unmounts what is mounted.
  ~SweepMounts();
  SweepMounts(const SweepMounts&) = delete;
  SweepMounts& operator=(const SweepMounts&) = delete;

  // The command that mounts it, without the program's name.
  std::vector<std::string> words(const std::string& name) const;
  // The mounts in which these folders lie, each once.
  std::vector<std::string> below(const std::vector<std::string>& folders) const;

  // Mounts these and returns once all can be read, or when stop_requested says so. Error with the
  // command's exit code where one cannot be mounted, as without /dev/fuse.
  void begin(const std::vector<std::string>& names, const SweepDirectory& directory,
             const std::function<bool()>& stop_requested);
  // Error(ExitCode::environment) where one of them has been ended by somebody: its cells would find
  // an empty folder.
  void check(const std::vector<std::string>& names);
  // Unmounts all.
  void end();

 private:
  struct Mounted {
    std::string name;
    std::string log;
    std::unique_ptr<ChildProcess> process;
  };
  std::string path(const std::string& name) const { return directory_ + "/mounts/" + name; }

  const SweepOptions& options_;
  const std::string directory_;
  std::vector<Mounted> mounted_;
};

}  // namespace stoker
