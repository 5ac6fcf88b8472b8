#pragma once

#include <string>

#include "io/core/stored_array.h"
#include "io/core/system/memory.h"

namespace stoker {

// NumPy's file of one array (.npy, versions 1 to 3): a magic number, a header that is a dictionary
// in Python's words, and the values without a gap. Pure functions; any thread.

// An array in a file. A value that does not own the bytes.
struct NpyArray {
  // Its type as NumPy calls it (uint8, float32), and its shape.
  StoredArray stored;
  // Columns first, as Fortran has them. Arrays of one axis are both.
  bool fortran = false;
  // As they lie in the file: little-endian.
  Bytes values;
};

// Whether a file begins as one of NumPy's.
bool is_npy(Bytes file);

// The array of a file that is_npy(). BadSample: corrupt for a header that cannot be read, truncated
// where values are missing, unsupported for objects, records, strings and big-endian numbers.
NpyArray parse_npy(Bytes file);

// What stands before the values of an array in rows: version 1, padded to a multiple of 64 bytes as
// numpy.save does it. type: uint8, int64, float32.
std::string npy_head(const StoredArray& array);

}  // namespace stoker
