#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/core/system/memory.h"

namespace stoker {

// Memory that is faulted in and not in use: reading to it costs no page faults.
using Room = std::vector<HostMemory>;

// A set in memory, every byte of it verified. A value that shares its memory; any thread, once all
// of it was read. Holds as many bytes as the set has until the last copy goes: in the room that it
// was given as far as that goes, which is its own meanwhile, and on huge pages where the kernel
// gives them. So drop it once the tensors have been copied out.
class LoadedState {
 public:
  // Reads the set in `directory` with `threads` threads. DamagedSet where a byte is not
  // what was written; IoError where it cannot be read.
  LoadedState(const SetFiles& from, const std::string& directory, int64_t threads,
              const Room& room = {});
  // A set of which the files are yet to be read, or written into file(): `path` is for messages.
  LoadedState(Manifest manifest, std::string path, const Room& room = {});
  // Reads these files of it, which are in `directory`. Errors as above.
  void read(const SetFiles& from, const std::string& directory, const std::vector<size_t>& files,
            int64_t threads);
  // The memory of a file of the manifest.
  std::span<uint8_t> file(size_t index);
  // The same, which stays as long as somebody holds it.
  const HostMemory& memory(size_t index) const { return files_[index]; }

  int64_t step() const { return manifest_.step; }
  const Manifest& manifest() const { return manifest_; }
  // The set's directory, for messages and the record of the run.
  const std::string& path() const { return path_; }
  // What the trainer had put beside the tensors.
  const nlohmann::json& training() const { return manifest_.training; }
  // In the order of the set, which need not be the trainer's: find them by name.
  const std::vector<TensorInfo>& tensors() const { return manifest_.layout.tensors; }
  // Writes all bytes of a tensor (index into tensors()) to `to` with `threads` threads. It has room
  // for them; may be null for a tensor of none.
  void copy(size_t tensor, uint8_t* to, int64_t threads = 1) const;
  // The same with its bytes from `begin` on, as many as `to` takes.
  void copy(size_t tensor, uint64_t begin, std::span<uint8_t> to, int64_t threads = 1) const;

 private:
  void allocate(const Room& room);

  Manifest manifest_;
  std::string path_;
  std::vector<HostMemory> files_;
};

}  // namespace stoker
