#pragma once

#include <memory>
#include <string>

#include "app/base/command_line.h"
#include "io/core/error.h"
#include "io/storage/storage.h"

namespace stoker {

// What `stoker dataset fetch` is asked for. A value.
struct FetchArguments {
  std::string name;     // name of a recipe
  std::string to;       // directory; empty: data/NAME
  std::string archive;  // one that is already there; empty: looked for, or downloaded
  std::string url;      // where to download from; empty: as the recipe says
  bool json = false;
};

// `stoker dataset fetch`: obtains a public data set where it is absent: downloads, checks and
// unpacks it, which takes minutes, with a line of progress. Prints where it is. Throws as
// io/dataset/fetch.
ExitCode fetch_dataset(const FetchArguments& arguments);

// A directory as a tier of type posix, for commands that take the path of one. Nothing is made
// before something is written. Throws IoError.
std::unique_ptr<Storage> open_directory(const std::string& root);

// What `stoker dataset stage` is asked for. A value.
struct StageArguments : ConfigArguments {
  bool dry_run = false;  // print what would be copied, and copy nothing
};

// `stoker dataset stage`: copies what the rule of the data set's tier chooses to its place for
// copies, one object after the other, ahead of a run; prints what was there, what was copied and
// what could not be read. What is there already is not copied again; what was copied before a
// failure stays. Error(ExitCode::config) where the data set's tier is not of type cached, or keeps
// its copies in memory; IoError where the tier for copies fails.
ExitCode stage_experiment(const StageArguments& arguments);

}  // namespace stoker
