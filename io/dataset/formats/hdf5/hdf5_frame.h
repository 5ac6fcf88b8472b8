#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/system/memory.h"

namespace stoker {

// A data set of a file that is to be written. A value.
struct Hdf5Set {
  std::string path;  // "climate/data"; its groups are made
  // As NumPy calls it: u1, u8, i4, i8, f4; S12: strings of 12 bytes, padded by zeros.
  std::string type;
  std::vector<uint64_t> shape;
  bool one_chunk = false;  // in a chunk of its own shape; else contiguous
  uint64_t bytes() const;
};

// An HDF5 file as libhdf5 makes it, in a process of its own: headers, and holes where the values of
// its data sets belong. Who writes the file puts them in on the way, so they never pass through
// that process. The same data sets give the same bytes. One thread.
class Hdf5Frame {
 public:
  // key: names the file in messages. Fails as run_hdf5() (io/dataset/formats/hdf5/process.h).
  Hdf5Frame(std::string key, const std::vector<Hdf5Set>& sets);
  // All of the file, from its begin to its end, by `append`. fill(i): the same for the values of
  // data set i, all of them and no more; once for each that has any, in the order in which they
  // lie. IoError.
  void write(const std::function<void(Bytes)>& append,
             const std::function<void(size_t)>& fill) const;

 private:
  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    size_t set = 0;
  };
  void copy(uint64_t begin, uint64_t end, const std::function<void(Bytes)>& append) const;

  const std::string key_;
  const FileDescriptor file_;  // in memory, as sparse as libhdf5 wrote it
  std::vector<Place> places_;  // of data sets with values, in the order in which they lie
};

}  // namespace stoker
