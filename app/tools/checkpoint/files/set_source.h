#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/storage/file_tree.h"

namespace stoker {

// The tensors of the network have names in a set that begin so (app/train/tensors.h).
inline constexpr std::string_view kModelPrefix = "model.";

// A set of ours, as a directory of files. Any thread.
class SetSource final : public StoredTensors {
 public:
  // path: the directory with its manifest. DamagedSet where the manifest or the size of a file is
  // not what was written; IoError.
  explicit SetSource(const std::string& path);

  const Manifest& manifest() const { return manifest_; }
  void read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const override;
  std::optional<TensorSum> sum(size_t tensor) const override;
  std::string place(size_t tensor) const override;

 private:
  // Where a piece of a tensor lies.
  struct Stretch {
    size_t file;
    TensorPiece piece;
  };

  const FileTree tree_;
  const std::string directory_;
  const SetFiles files_;
  Manifest manifest_;
  std::vector<SetFile> open_;                // of the layout
  std::vector<std::vector<Stretch>> where_;  // of each tensor, in its order
};

}  // namespace stoker
