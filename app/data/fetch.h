#pragma once

#include <string>

#include "io/core/error.h"

namespace stoker {

struct FetchArguments {
  std::string name;     // of a recipe
  std::string to;       // directory; empty: data/NAME
  std::string archive;  // one that is already there; empty: looked for, or downloaded
  std::string url;      // where to download from; empty: as the recipe says
  bool json = false;
};

// `stoker dataset fetch`: obtains a public data set where it is absent. Throws as io/dataset/fetch.
ExitCode fetch_dataset(const FetchArguments& arguments);

// "caltech101, ..."
std::string fetchable_names();

}  // namespace stoker
