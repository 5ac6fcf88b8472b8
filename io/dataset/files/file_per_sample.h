#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/dataset/dataset.h"
#include "io/storage/storage.h"

namespace stoker {

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
