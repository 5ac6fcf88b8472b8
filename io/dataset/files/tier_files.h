#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/dataset/dataset.h"
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

// Objects of a tier that are one sample each, and how they are read: each by one request, for which
// its size must be known. Immutable; any thread; the tier must outlive it.
class FilePerSample {
 public:
  // A file of more than max_bytes is a bad sample (dataset.max_file_bytes).
  FilePerSample(const Storage& tier, uint64_t max_bytes);

  // All of an object that had `bytes` bytes. With a length the tier need not ask for one. One byte
  // more is asked for, so that a file that grew since is noticed; it is then read again as a whole.
  // Fails as Dataset::read.
  Bytes read(const std::string& key, uint64_t bytes, Buffer& scratch) const;
  // What read() will ask for: for Storage::expect. Reads nothing.
  ObjectRange request(const std::string& key, uint64_t bytes) const;

 private:
  const Storage& tier_;
  const uint64_t max_bytes_;
};

}  // namespace stoker
