#include "io/checkpoint/loaded_state.h"

#include <cstring>

#include "io/checkpoint/read_set.h"
#include "io/core/memory.h"

namespace stoker {

LoadedState::LoadedState(const FileTree& tree, const std::string& directory, int64_t threads)
    : manifest_(read_manifest(tree, directory)), path_(tree.root() + "/" + directory) {
  check_files(tree, directory, manifest_);
  for (const FileSums& file : manifest_.files) {
    // Faulted in by the threads that read.
    files_.push_back(allocate_huge(file.bytes, false));
  }
  read_set(tree, directory, manifest_, threads, [this](size_t file, uint64_t offset, Bytes bytes) {
    std::memcpy(files_[file].data.get() + offset, bytes.data(), bytes.size());
  });
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
