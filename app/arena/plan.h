#pragma once

#include <string>
#include <vector>

#include "app/arena/options.h"

namespace stoker {

// One command at one time.
struct ArenaRun {
  size_t entry = 0;
  int64_t workers = 0;
  int64_t round = 0;
  std::string command;  // with everything replaced
  std::string hash;     // of the command and, where it is ours, of this program
};

// What `stoker bench arena` leaves out of a file. Empty: nothing.
struct ArenaSelection {
  std::vector<std::string> only;  // parts of names or of classes
  std::vector<int64_t> workers;
};

// Every selected command once a round, each round in another order, which is a function of the
// seed. Error(ExitCode::config) where nothing is selected.
std::vector<ArenaRun> plan_arena(const ArenaOptions& options, const ArenaSelection& selection);

// The selected entries with `pixels`, once each, in the order of the file; workers is 1.
std::vector<ArenaRun> plan_pixels(const ArenaOptions& options, const ArenaSelection& selection,
                                  const std::string& directory);

// The .npy file that plan_pixels() has an entry write.
std::string pixel_file(const std::string& directory, const ArenaEntry& entry);

// Whether the entry is there (`needs`).
bool is_there(const ArenaOptions& options, const ArenaEntry& entry);

bool is_selected(const ArenaEntry& entry, const ArenaSelection& selection);

}  // namespace stoker
