#include "io/checkpoint/loaded_state.h"

#include <cstring>

#include "io/checkpoint/read_set.h"

namespace stoker {

LoadedState::LoadedState(const FileTree& tree, const std::string& directory, int64_t threads)
    : manifest_(read_manifest(tree, directory)), path_(tree.root() + "/" + directory) {
  for (const FileSums& file : manifest_.files) {
    files_.emplace_back(new uint8_t[file.bytes], std::default_delete<uint8_t[]>());
  }
  read_set(tree, directory, manifest_, threads,
           [this](size_t file, uint64_t offset, Bytes bytes) {
             std::memcpy(files_[file].get() + offset, bytes.data(), bytes.size());
           });
}

void LoadedState::copy(size_t tensor, uint8_t* to) const {
  // Data files come first in the manifest, in the order of the layout.
  for (size_t file = 0; file < manifest_.layout.files.size(); ++file) {
    for (const TensorPiece& piece : manifest_.layout.files[file].pieces) {
      if (piece.tensor != tensor) continue;
      std::memcpy(to + piece.begin, files_[file].get() + piece.offset, piece.bytes);
    }
  }
}

}  // namespace stoker
