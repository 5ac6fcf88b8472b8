#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/dataset/formats/hdf5/program/parent.h"

namespace stoker {

// What is asked of a file. A value.
struct Hdf5Scan {
  Hdf5Form form{};
  // Paths of data sets; those but the first may be empty, or absent in the file.
  std::string images;
  std::string offsets;
  std::string labels;
  std::string keys;
  // Data sets whose parts follow each sample, one after another. They have to be there.
  std::vector<std::string> beside;
};

// The answer to it (protocol.h). Hdf5Refusal.
std::vector<uint8_t> scan_hdf5(Hdf5Parent& parent, const Hdf5Scan& scan);

}  // namespace stoker
