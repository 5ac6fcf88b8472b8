#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/core/file.h"

namespace stoker {

using Scalars = std::vector<std::pair<std::string, double>>;  // by tag

// A TensorBoard event file, events.out.tfevents.<time>.<host>.<pid>.0: records that each hold one
// protocol buffer of type Event. One thread at a time. Throws IoError where it cannot write.
//
//   record = length (u64, little-endian), masked CRC-32C of it, event, masked CRC-32C of the event
//   event  = 1: seconds (double), 2: step, 3: version (first record only), 5: summary
//   summary = value*,  value = 1: tag, 2: number (float)
//
// A record is written at once, so that a killed process leaves whole ones.
class EventFile {
 public:
  explicit EventFile(const std::string& directory);
  void add(int64_t step, const Scalars& scalars);

 private:
  void put(const std::string& event);

  const std::string path_;
  const FileDescriptor file_;
};

}  // namespace stoker
