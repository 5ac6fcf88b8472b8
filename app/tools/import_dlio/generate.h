#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/tools/import_dlio/workload.h"

namespace stoker {

// What was written. A value.
struct DlioData {
  int64_t files = 0;
  uint64_t bytes = 0;
  double seconds = 0;
};

// Writes the files that DLIO's own generator would, under the names by which DLIO finds them:
// DIRECTORY/train/img_01_of_16.npz, in subfolders where the workload has some, and DIRECTORY/valid
// where it has files to evaluate. Sizes are drawn as DLIO draws them, from the workload's seed;
// contents do not compress. Several files are written at once, each is durable and whole under its
// name, or not there. progress(files, all) is called by the caller's thread.
// Error(ExitCode::config) for formats that are not written (png), Error(ExitCode::environment)
// where there are files already; IoError.
DlioData generate(const DlioWorkload& workload, const std::string& directory,
                  const std::function<void(int64_t, int64_t)>& progress);

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
