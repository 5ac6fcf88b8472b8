#include "app/tools/checkpoint/files/set_source.h"

#include <algorithm>
#include <filesystem>

#include "io/checkpoint/restoring/read_set.h"
#include "io/core/text/text.h"

namespace stoker {

SetSource::SetSource(const std::string& path)
    : StoredTensors("a checkpoint set"),
      tree_(std::filesystem::canonical(path).parent_path().native()),
      directory_(to_text(std::filesystem::canonical(path).filename().native())),
      files_(tree_),
      manifest_(read_manifest(files_, directory_)) {
  whole_set(files_, directory_, manifest_);
  tensors_ = manifest_.layout.tensors;
  where_.resize(tensors_.size());
  for (size_t i = 0; i < manifest_.layout.files.size(); ++i) {
    const DataFile& file = manifest_.layout.files[i];
    open_.push_back(files_.open(directory_ + "/" + file.name, FileAccess::buffered));
    for (const TensorPiece& piece : file.pieces) where_[piece.tensor].push_back({i, piece});
  }
}

void SetSource::read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const {
  for (const auto& [file, piece] : where_[tensor]) {
    const uint64_t first = std::max(begin, piece.begin);
    const uint64_t end = std::min(begin + out.size(), piece.begin + piece.bytes);
    if (first >= end) continue;
    open_[file].read_at(piece.offset + (first - piece.begin),
                        out.subspan(first - begin, end - first));
  }
}

std::optional<TensorSum> SetSource::sum(size_t tensor) const {
  return TensorSum{TensorSum::Kind::crc32c, manifest_.tensor_sums[tensor]};
}

std::string SetSource::place(size_t tensor) const {
  std::string path = files_.full(directory_);
  if (where_[tensor].empty()) return path;
  return path + "/" + manifest_.layout.files[where_[tensor].front().file].name;
}

}  // namespace stoker
