#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/storage/storage.h"

namespace stoker {

// A folder of a tier in which an option of a data set has something looked for. A value that refers
// to the tier; any thread.
struct TierFolder {
  const Storage& tier;
  std::string tier_name;
  std::string folder;  // without a "/" at its end; empty: the tier's root
  std::string option;  // that names the folder: "folder"

  // What keys in it begin with: "train/", or nothing.
  std::string prefix() const { return folder.empty() ? "" : folder + "/"; }
  // "folder 'train' of tier 'data'".
  std::string text() const;
  // Throws the Error(ExitCode::environment) of a folder that is not there; it names those that are.
  [[noreturn]] void fail_absent() const;
};

// Adds the first folder of a path where it is not the last of the list: that of each, where sorted
// paths are added one after the other.
void add_first_folder(std::string_view path, std::vector<std::string>& folders);

}  // namespace stoker
