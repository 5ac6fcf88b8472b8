#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/datasets.h"
#include "tests/support/temporary_directory.h"

// HDF5 files that h5py writes (hdf5_files.py), and data sets of them.

namespace stoker {

// hdf5_files.py as a command: a directory to fill, or a file to read; what it prints goes to
// `output`.
inline std::string hdf5_python(const std::string& argument, const std::string& output) {
  return "/usr/bin/python3 -B " STOKER_SOURCE_DIR "/tests/dataset/hdf5_files.py '" + argument +
         "' > '" + output + "'";
}

// The files that h5py wrote, made once.
inline const TemporaryDirectory& hdf5_files() {
  static const TemporaryDirectory directory;
  static const int made = std::system(hdf5_python(directory.path(), directory / "output").c_str());
  EXPECT_EQ(made, 0) << "hdf5_files.py failed";
  return directory;
}

// A tier in memory that holds this shard.
struct Hdf5Shards : TestDataset {
  explicit Hdf5Shards(const std::string& contents) : TestDataset(make_storage("{type: memory}")) {
    put(tier(), "train.h5", contents);
  }
  Hdf5Shards& with_classes() {
    put(tier(), "classes.txt", "nothing\ncyclone\nriver\n");
    return *this;
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: hdf5, storage: data" + more + "}");
  }
};

// The options that a file of that name needs.
inline std::string hdf5_options(const std::string& name) {
  if (name.starts_with("map-rows")) return ", target: map";
  if (name.starts_with("map-file")) {
    return ", images: climate/data, labels: '', target: climate/labels, stats: climate/stats, "
           "samples: file";
  }
  return name.starts_with("climate")
             ? ", images: climate/data, labels: climate/labels, samples: file"
             : "";
}

}  // namespace stoker
