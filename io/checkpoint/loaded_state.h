#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/manifest.h"
#include "io/checkpoint/read_set.h"
#include "io/checkpoint/set_files.h"
#include "io/core/memory.h"

namespace stoker {

// A set in memory, every byte of it verified. A value that shares its memory; any thread, once all
// of it was read. Holds as many bytes as the set has, on huge pages where the kernel gives them,
// until the last copy goes: so drop it once the tensors have been copied out.
class LoadedState {
 public:
  // Reads the set in `directory` with `threads` threads. DamagedSet where a byte is not
  // what was written; IoError where it cannot be read.
  LoadedState(const SetFiles& from, const std::string& directory, int64_t threads);
  // A set of which the files are yet to be read, or written into file(): `path` is for messages.
  LoadedState(Manifest manifest, std::string path);
  // Reads these files of it, which are in `directory`. Errors as above.
  void read(const SetFiles& from, const std::string& directory, const std::vector<size_t>& files,
            int64_t threads);
  // The memory of a file of the manifest.
  std::span<uint8_t> file(size_t index);

  int64_t step() const { return manifest_.step; }
  const Manifest& manifest() const { return manifest_; }
  // Of the set's directory, for messages and the record of the run.
  const std::string& path() const { return path_; }
  // What the trainer had put beside the tensors.
  const nlohmann::json& training() const { return manifest_.training; }
  // In the order of the set, which need not be the trainer's: find them by name.
  const std::vector<TensorInfo>& tensors() const { return manifest_.layout.tensors; }
  // Writes all bytes of a tensor (index into tensors()) to `to`, which has room for its bytes; may
  // be null for a tensor of none.
  void copy(size_t tensor, uint8_t* to) const;

 private:
  void allocate();

  Manifest manifest_;
  std::string path_;
  std::vector<HostMemory> files_;
};

}  // namespace stoker
