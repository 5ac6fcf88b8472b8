#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/core/memory.h"

namespace stoker {

// Arrays in NumPy's file format (.npy, version 1.0), row by row, little-endian.
struct NpyArray {
  std::string type;  // "|u1", "<u2", "<f4", "<f8", as NumPy writes it
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t size() const;  // elements
};

// The file is whole under its name, or not there. Throws IoError.
void write_npy(const std::string& path, const std::string& type, const std::vector<int64_t>& shape,
               Bytes bytes);

// Error(ExitCode::environment) where it cannot be read or is no such array.
NpyArray read_npy(const std::string& path);

}  // namespace stoker
