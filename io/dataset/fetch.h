#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/dataset/download.h"
#include "io/storage/storage.h"

namespace stoker {

// How a public data set is obtained: a zip that holds a tar.gz that holds
// "<top folder>/<class>/<file>". A value; objects are named without the top folder.
struct Recipe {
  // As dataset.fetch names it.
  std::string name;
  std::string url;
  // The checksum of the file behind the url, in hex.
  std::string md5;
  // File name of the download.
  std::string archive;
  // File name of the tar.gz inside it.
  std::string inner;
  // Environment variable that may name an archive that is already there.
  std::string variable;
  // How many files the data set has: another number means another archive.
  int64_t files = 0;
};

// The names of the public data sets that are known.
std::vector<std::string> recipe_names();
// Valid for ever. Error(ExitCode::config), with a suggestion, for an unknown name.
const Recipe& find_recipe(const std::string& name);

// Where a fetch looks and how it works. A value. The checksum is the recipe's, not the one here.
// Progress comes some times a second; that of "unpack" counts files. Where it throws, the next call
// goes on where this one stopped.
struct FetchOptions : DownloadOptions {
  // The prefix of the objects: "" or "name/".
  std::string folder;
  // Use this one, whatever the environment says.
  std::string archive;
  // Download from here instead of the recipe's URL; the checksum holds all the same.
  std::string url;
  std::string data_dir = "data";  // where archives are looked for and the download is kept
  // How many threads write objects.
  int64_t writers = 8;
  // Remarks for the user's log; may be empty.
  Notify notify;
};

// What a fetch did. A value.
struct FetchResult {
  // Nothing was done, and the rest is empty.
  bool was_there = false;
  // The archive that was unpacked.
  std::string source;
  // How much the archive holds, including what was there already.
  int64_t files = 0;
  uint64_t bytes = 0;
};

// The object that is in the folder while others are missing: written first, removed last.
inline constexpr const char* kFetchMarker = ".fetching";

// Obtains a data set where it is absent: the folder holds no objects, or the marker of a fetch that
// was interrupted, which then continues. Sources, in this order: options.archive; the archive that
// the recipe's variable names; <data_dir>/<inner>, <data_dir>/<archive>; the download, kept as
// <data_dir>/<archive> (resumed if it was interrupted, verified before use). Archives may be the
// published zip or the tar.gz inside it.
// One thread at a time for a folder. Error(ExitCode::environment), which says what to do, where no
// source works or an archive is not the data set.
FetchResult fetch(const Recipe& recipe, Storage& target, const FetchOptions& options = {});

}  // namespace stoker
