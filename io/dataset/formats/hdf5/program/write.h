#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stoker {

// Writes a file of data sets without their values to kHdf5FileDescriptor. Words, four for each:
// its path, its type, its shape, and "contiguous" or "chunk" (protocol.h). Returns where the values
// of each belong; 0: it has no values. Hdf5Refusal.
std::vector<uint64_t> write_hdf5(const std::vector<std::string>& words);

}  // namespace stoker
