#include "app/tools/checkpoint/files/open_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "app/tools/checkpoint/files/stored_tensors.h"
#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/restoring/safetensors.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kZipBegin = "PK\x03\x04";
constexpr size_t kBeginBytes = 8;

std::unique_ptr<StoredTensors> open_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder = path;
  if (fs::exists(folder / kManifestName, error)) return std::make_unique<SetSource>(path);
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {
    if (fs::exists(folder / name, error)) return open_tensors((folder / name).native());
  }
  throw Error(
      ExitCode::environment,
      fmt::format("{}: a folder without {} and without model.safetensors: name one set in it "
                  "(step-...; `stoker checkpoint list {}` shows them), or a file",
                  path, kManifestName, path));
}

}  // namespace

std::unique_ptr<StoredTensors> open_tensors(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path);
  if (is_safetensors_index(path)) return open_safetensors_index(path);
  const InputFile file(path);
  const std::string begin = file.text(0, std::min<uint64_t>(file.size(), kBeginBytes));
  if (begin.starts_with(kZipBegin)) return open_torch(path);
  const auto* bytes = reinterpret_cast<const uint8_t*>(begin.data());
  // A header of safetensors may have a length whose first byte is that of a pickle.
  const bool no_length =
      begin.size() < kBeginBytes || little_endian(bytes, kBeginBytes) > file.size();
  if (begin.starts_with('\x80') && no_length) {
    file.refuse(
        "a pickle without a zip around it, as torch.save wrote it before PyTorch 1.6: load it "
        "in Python, and save it anew (torch.save, or safetensors)");
  }
  return open_safetensors(path);
}

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

namespace {

Bytes bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// One file, or all that an index names.
class Safetensors final : public StoredTensors {
 public:
  explicit Safetensors(const std::string& format) : StoredTensors(format) {}

  // Adds the tensors of a file, in the order of their bytes: all, or those that its index names.
  void add(const std::string& path, const std::vector<std::string>* named = nullptr) {
    files_.push_back(std::make_unique<InputFile>(path));
    const InputFile& file = *files_.back();
    const std::string prefix = file.text(0, std::min(kSafetensorsPrefix, file.size()));
    const std::string start =
        file.text(0, safetensors_header_bytes(bytes_in(prefix), file.size(), file.path()));
    SafetensorsHeader header = parse_safetensors(bytes_in(start), file.size(), file.path());
    if (named != nullptr) keep_indexed(header.tensors, *named, file.path());
    for (StoredTensor& tensor : header.tensors) {
      if (dtype_bytes(tensor.dtype) == 0) {
        file.refuse(
            fmt::format("tensor {} has dtype {}, which is not read here (F64, F32, F16, BF16, "
                        "I64, I32, I16, I8, U8, BOOL are): convert it before",
                        tensor.name, tensor.dtype));
      }
      where_.push_back({files_.size() - 1, tensor.begin});
      tensors_.push_back(std::move(tensor));
    }
  }

  void read(size_t tensor, uint64_t begin, std::span<uint8_t> out) const override {
    files_[where_[tensor].file]->read(where_[tensor].offset + begin, out);
  }
  std::optional<TensorSum> sum(size_t) const override { return std::nullopt; }
  std::string place(size_t tensor) const override { return files_[where_[tensor].file]->path(); }

 private:
  struct Place {
    size_t file;
    uint64_t offset;
  };
  std::vector<std::unique_ptr<InputFile>> files_;
  std::vector<Place> where_;
};

}  // namespace

std::unique_ptr<StoredTensors> open_safetensors(const std::string& path) {
  auto source = std::make_unique<Safetensors>("safetensors");
  source->add(path);
  return source;
}

std::unique_ptr<StoredTensors> open_safetensors_index(const std::string& path) {
  const InputFile index(path);
  if (index.size() > kMaxSafetensorsHeader) {
    index.refuse(fmt::format("{} bytes are too many for an index", index.size()));
  }
  const auto folder = std::filesystem::path(path).parent_path();
  auto source = std::make_unique<Safetensors>("safetensors in shards");
  for (const auto& [name, named] :
       parse_safetensors_index(index.text(0, index.size()), index.path())) {
    source->add((folder / from_text(name)).native(), &named);
  }
  return source;
}

}  // namespace stoker
