#pragma once

#include <memory>
#include <string>

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

}  // namespace stoker
