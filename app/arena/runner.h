#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/arena/results.h"
#include "app/run/stop_signal.h"

namespace stoker {

// Runs the commands of an arena, one at a time. A command that fails is part of the results. One
// thread. Throws IoError.
class ArenaRunner {
 public:
  // `directory` gets results.jsonl, pixels/ and logs/. say: a line for the people who watch.
  ArenaRunner(const ArenaOptions& options, std::string directory, const StopSignal& stop,
              std::function<void(const std::string&)> say);

  // Everything that has not been run well yet and is there. False: a signal ended it; the command
  // that it met does not count.
  bool run(const std::vector<ArenaRun>& plan, ArenaResults& results) const;

  // The commands that write pixels. Gives what failed: its output is no matter. False as above.
  bool run_pixels(const std::vector<ArenaRun>& plan, std::vector<ArenaRow>& failed) const;

 private:
  ArenaRow run_one(const ArenaRun& run, const std::string& log, bool& interrupted) const;

  const ArenaOptions& options_;
  const std::string directory_;
  const StopSignal& stop_;
  std::function<void(const std::string&)> say_;
};

}  // namespace stoker
