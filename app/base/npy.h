#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/memory.h"

namespace stoker {

// Writes an array in NumPy's file format (.npy, version 1.0), row by row, little-endian. type:
// "|u1" or "<f4", as NumPy writes it. The file is whole under its name, or not there. Throws
// IoError.
void write_npy(const std::string& path, const std::string& type, const std::vector<int64_t>& shape,
               Bytes bytes);

}  // namespace stoker
