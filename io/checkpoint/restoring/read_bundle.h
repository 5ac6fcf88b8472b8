#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "io/checkpoint/sets/set_files.h"
#include "io/checkpoint/sets/tensor_bundle.h"

namespace stoker {

// A checkpoint of TensorFlow's, whoever wrote it, by its prefix as a path of `from`. Refers to it.
// Any thread.
class BundleFiles {
 public:
  BundleFiles(SetFiles from, std::string prefix)
      : from_(std::move(from)), prefix_(std::move(prefix)) {}

  // Error(ExitCode::storage) with the file's name where it is no index; IoError.
  TensorBundle index() const;
  // Reads a tensor's bytes. Empty: they are what its sum says; else file, tensor and what is wrong.
  // `files`: TensorBundle::files. A sliced tensor has no bytes: its slices have.
  std::string damage(const BundleTensor& tensor, uint64_t files) const;

 private:
  uint32_t sum(const BundleTensor& tensor, const std::string& file) const;

  SetFiles from_;
  std::string prefix_;
};

}  // namespace stoker
