#pragma once

#include <cstdint>
#include <string>

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// A file of records that is to be written. A value.
struct RecordFile {
  std::string path;
  // Of each of its records, which are uint8.
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t records = 0;
  // Of the data set in an HDF5 file.
  std::string name = {};
  // Of the bytes that fill it.
  uint64_t seed = 0;
};

// Writes it in the workload's format (npz, npy, jpeg, hdf5, tfrecord or indexed_binary, whose two
// index files are written as well), as DLIO does, and returns its bytes. What it needs of memory is
// 8 MiB, or an image. Any thread. IoError; Error as run_hdf5() for hdf5.
uint64_t write_record_file(const std::string& format, const RecordFile& file);

}  // namespace stoker
