#include "app/tools/checkpoint/files/safetensors_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/tools/checkpoint/files/input_file.h"
#include "io/checkpoint/restoring/safetensors.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
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
