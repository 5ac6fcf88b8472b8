#pragma once

#include <cstdint>

#include "io/dataset/hdf5/program/parent.h"

namespace stoker {

// What is to be written. A value.
struct Hdf5Frame {
  uint64_t samples = 0;
  uint64_t key_bytes = 0;
  uint64_t image_bytes = 0;  // in all
};

// What the parent reads for it (protocol.h), in bytes.
uint64_t frame_bytes(const Hdf5Frame& frame);

// Writes a file without its images to kHdf5FileDescriptor. Where the images belong. Hdf5Refusal.
uint64_t write_hdf5(Hdf5Parent& parent, const Hdf5Frame& frame);

}  // namespace stoker
