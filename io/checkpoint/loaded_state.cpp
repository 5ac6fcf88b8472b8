#include "io/checkpoint/loaded_state.h"

#include <cstring>
#include <utility>

#include "io/core/memory.h"

namespace stoker {

LoadedState::LoadedState(const SetFiles& from, const std::string& directory, int64_t threads)
    : manifest_(read_manifest(from, directory)), path_(from.full(directory)) {
  // Before memory is allocated by their sizes.
  files_here(from, directory, manifest_);
  allocate();
  read_set(from, directory, manifest_, threads, keep());
}

LoadedState::LoadedState(Manifest manifest, std::string path)
    : manifest_(std::move(manifest)), path_(std::move(path)) {
  allocate();
}

void LoadedState::allocate() {
  for (const FileSums& file : manifest_.files) {
    // Faulted in by the threads that read.
    files_.push_back(allocate_huge(file.bytes, false));
  }
}

ChunkSink LoadedState::keep() {
  return [this](size_t file, uint64_t offset, Bytes bytes) {
    std::memcpy(files_[file].data.get() + offset, bytes.data(), bytes.size());
  };
}

void LoadedState::read(const SetFiles& from, const std::string& directory,
                       const std::vector<size_t>& files, int64_t threads) {
  read_files(from, directory, manifest_, files, threads, keep());
}

std::span<uint8_t> LoadedState::file(size_t index) {
  return {files_[index].data.get(), manifest_.files[index].bytes};
}

void LoadedState::copy(size_t tensor, uint8_t* to) const {
  // Data files come first in the manifest, in the order of the layout.
  for (size_t file = 0; file < manifest_.layout.files.size(); ++file) {
    for (const TensorPiece& piece : manifest_.layout.files[file].pieces) {
      if (piece.tensor != tensor || piece.bytes == 0) continue;  // `to` may be null
      std::memcpy(to + piece.begin, files_[file].data.get() + piece.offset, piece.bytes);
    }
  }
}

}  // namespace stoker
