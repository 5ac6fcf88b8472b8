#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/checkpoint/restoring/safetensors.h"
#include "io/checkpoint/sets/manifest.h"
#include "io/checkpoint/sets/set_files.h"
#include "io/storage/file_tree.h"

namespace stoker {

// The checkpoint at `path`, by what is there: the directory of a set of ours; a file of safetensors
// or its index; a file of torch.save; a folder of transformers, which holds model.safetensors, or
// the index of its shards. Error(ExitCode::environment) where there is nothing that could be one,
// with what could; ExitCode::storage for what is damaged, or of another kind.
std::unique_ptr<StoredTensors> open_tensors(const std::string& path);

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

// One file of safetensors. The header has to say of every byte behind it which tensor's it is.
// Error(ExitCode::storage) with what is wrong, and where; IoError.
std::unique_ptr<StoredTensors> open_safetensors(const std::string& path);

// The files that an index names ("model.safetensors.index.json"), as transformers shards them. They
// lie in its folder. Each tensor is that of the file which the index names for it. Errors as above.
std::unique_ptr<StoredTensors> open_safetensors_index(const std::string& path);

// A file of torch.save, since PyTorch 1.6: a zip with `data.pkl`, which describes a state dict of
// tensors (state_pickle.h), and a record for each storage. Names of nested dictionaries are put
// together with dots. Tensors that share a storage are each read as a tensor of their own, and
// those that do not lie in row-major order are put into it. Error(ExitCode::storage) with what is
// in the way; IoError.
std::unique_ptr<StoredTensors> open_torch(const std::string& path);

}  // namespace stoker
