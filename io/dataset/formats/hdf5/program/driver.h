#pragma once

#include <cstddef>
#include <cstdint>

#include "io/dataset/formats/hdf5/program/handle.h"

namespace stoker {

// The bytes of a file, for libhdf5. What fails is false, not an exception: it is called from C. One
// thread.
class Hdf5Medium {
 public:
  virtual ~Hdf5Medium() = default;
  virtual uint64_t bytes() const = 0;
  virtual bool read(uint64_t offset, size_t bytes, void* out) = 0;
  // Both fail for a file that is only read.
  virtual bool write(uint64_t /*offset*/, size_t /*bytes*/, const void* /*from*/) { return false; }
  virtual bool resize(uint64_t /*bytes*/) { return false; }
};

// An access list for H5Fopen() or H5Fcreate(), with which the file is the medium, whatever its
// name. The medium must outlive it and the file.
Hdf5Handle access_to(Hdf5Medium& medium);

}  // namespace stoker
