#include "app/tools/checkpoint/files/safetensors_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/tools/checkpoint/files/input_file.h"
#include "io/checkpoint/restoring/safetensors_header.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr JsonLimits kIndexLimits{8, 20 * kMaxForeignTensors};

Bytes bytes_in(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// One file, or all that an index names.
class Safetensors final : public StoredTensors {
 public:
  explicit Safetensors(const std::string& format) : StoredTensors(format) {}

  // Adds the tensors of a file, in the order of their bytes.
  void add(const std::string& path) {
    files_.push_back(std::make_unique<InputFile>(path));
    const InputFile& file = *files_.back();
    const std::string prefix = file.text(0, std::min(kSafetensorsPrefix, file.size()));
    const std::string start =
        file.text(0, safetensors_header_bytes(bytes_in(prefix), file.size(), file.path()));
    SafetensorsHeader header = parse_safetensors(bytes_in(start), file.size(), file.path());
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

Json parsed_index(const InputFile& index) {
  try {
    Json json = parse_json(index.text(0, index.size()), kIndexLimits);
    if (json.is_object()) return json;
  } catch (const Error& error) {
    index.refuse(fmt::format("it is {}: it is no index of safetensors files, or a damaged one",
                             error.what()));
  }
  index.refuse("it is no JSON object: it is no index of safetensors files, or a damaged one");
}

// The files of an index, and the tensors that it says are in each.
std::map<std::string, std::vector<std::string>> files_of_index(const InputFile& index) {
  if (index.size() > kMaxSafetensorsHeader) {
    index.refuse(fmt::format("{} bytes are too many for an index", index.size()));
  }
  const Json json = parsed_index(index);
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    index.refuse("it has no weight_map: it is no index of safetensors files");
  }
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      index.refuse(fmt::format("tensor {} is in {}, which is no name of a file beside it", tensor,
                               json_text(file)));
    }
    files[name].push_back(tensor);
  }
  if (files.size() > kMaxForeignFiles) {
    index.refuse(
        fmt::format("it names {} files; at most {} are read", files.size(), kMaxForeignFiles));
  }
  return files;
}

}  // namespace

std::unique_ptr<StoredTensors> open_safetensors(const std::string& path) {
  auto source = std::make_unique<Safetensors>("safetensors");
  source->add(path);
  return source;
}

std::unique_ptr<StoredTensors> open_safetensors_index(const std::string& path) {
  const InputFile index(path);
  const auto folder = std::filesystem::path(path).parent_path();
  auto source = std::make_unique<Safetensors>("safetensors in shards");
  for (auto& [name, named] : files_of_index(index)) {
    const size_t first = source->tensors().size();
    source->add((folder / from_text(name)).native());
    std::vector<std::string> there;
    for (size_t i = first; i < source->tensors().size(); ++i) {
      there.push_back(source->tensors()[i].name);
    }
    std::ranges::sort(there);
    std::ranges::sort(named);
    if (there == named) continue;
    std::vector<std::string> other;
    std::ranges::set_symmetric_difference(there, named, std::back_inserter(other));
    index.refuse(fmt::format("it and {} do not agree on tensor {}: fetch all files of it anew",
                             name, other.front()));
  }
  return source;
}

}  // namespace stoker
