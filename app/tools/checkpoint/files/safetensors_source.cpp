#include "app/tools/checkpoint/files/safetensors_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "app/tools/checkpoint/files/input_file.h"
#include "io/core/error.h"
#include "io/core/text/json.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr JsonLimits kHeaderLimits{8, 20 * kMaxForeignTensors};

Json parsed_header(const InputFile& file, const std::string& text) {
  try {
    Json json = parse_json(text, kHeaderLimits);
    if (json.is_object()) return json;
  } catch (const Error& error) {
    file.refuse(
        fmt::format("its header is {}: it is no safetensors file, or a damaged one", error.what()));
  }
  file.refuse("its header is no JSON object: it is no safetensors file, or a damaged one");
}

uint64_t whole(const InputFile& file, const std::string& name, const Json& value) {
  const int64_t number = find_whole_number(value).value_or(-1);
  if (number < 0) {
    file.refuse(fmt::format("tensor {}: {} is no whole number from 0 on", name, json_text(value)));
  }
  return static_cast<uint64_t>(number);
}

const Json& member(const InputFile& file, const std::string& name, const Json& entry,
                   const char* key) {
  const auto found = entry.is_object() ? entry.find(key) : entry.end();
  if (!entry.is_object() || found == entry.end()) {
    file.refuse(fmt::format("tensor {} has no {} in the header", name, key));
  }
  return *found;
}

// A tensor of the header, and the begin of its bytes behind the header.
struct Placed {
  TensorInfo info;
  uint64_t begin = 0;
};

Placed placed(const InputFile& file, const std::string& name, const Json& entry) {
  Placed tensor{{name, "", {}, 0}, 0};
  const Json& dtype = member(file, name, entry, "dtype");
  if (dtype.is_string()) tensor.info.dtype = dtype.get<std::string>();
  if (dtype_bytes(tensor.info.dtype) == 0) {
    file.refuse(
        fmt::format("tensor {} has dtype {}, which is not read here (F64, F32, F16, BF16, "
                    "I64, I32, I16, I8, U8, BOOL are): convert it before",
                    name, json_text(dtype)));
  }
  const Json& shape = member(file, name, entry, "shape");
  const Json& offsets = member(file, name, entry, "data_offsets");
  if (!shape.is_array() || !offsets.is_array() || offsets.size() != 2) {
    file.refuse(
        fmt::format("tensor {}: shape or data_offsets are no lists as they have to be", name));
  }
  for (const Json& size : shape) {
    tensor.info.shape.push_back(static_cast<int64_t>(whole(file, name, size)));
  }
  tensor.begin = whole(file, name, offsets[0]);
  const uint64_t end = whole(file, name, offsets[1]);
  const auto bytes = tensor_bytes(tensor.info.dtype, tensor.info.shape);
  if (!bytes || end < tensor.begin || end - tensor.begin != *bytes) {
    file.refuse(fmt::format("tensor {}: bytes [{}, {}) do not agree with dtype {} and shape {}",
                            name, tensor.begin, end, tensor.info.dtype, json_text(shape)));
  }
  tensor.info.bytes = *bytes;
  return tensor;
}

// One file, or all that an index names.
class Safetensors final : public StoredTensors {
 public:
  explicit Safetensors(const std::string& format) : StoredTensors(format) {}

  // Adds the tensors of a file, in the order of their bytes.
  void add(const std::string& path) {
    files_.push_back(std::make_unique<InputFile>(path));
    const InputFile& file = *files_.back();
    const std::string prefix = file.text(0, kLengthBytes);
    const uint64_t length =
        little_endian(reinterpret_cast<const uint8_t*>(prefix.data()), kLengthBytes);
    if (length > kMaxSafetensorsHeader || length > file.size() - kLengthBytes) {
      file.refuse(
          fmt::format("its first 8 bytes say that a header of {} bytes follows, in a file of "
                      "{}: it is no safetensors file, or it was cut short",
                      length, file.size()));
    }
    const Json header = parsed_header(file, file.text(kLengthBytes, length));
    std::vector<Placed> found;
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") found.push_back(placed(file, name, entry));
    }
    std::ranges::stable_sort(found, [](const Placed& a, const Placed& b) {
      return std::pair(a.begin, a.info.bytes) < std::pair(b.begin, b.info.bytes);
    });
    uint64_t end = 0;
    for (Placed& tensor : found) {
      if (tensor.begin != end) {
        file.refuse(
            fmt::format("tensor {} begins at byte {} of the data, and the one before it ends "
                        "at {}: its header is damaged",
                        tensor.info.name, tensor.begin, end));
      }
      end += tensor.info.bytes;
      where_.push_back({files_.size() - 1, kLengthBytes + length + tensor.begin});
      tensors_.push_back(std::move(tensor.info));
    }
    if (end != file.size() - kLengthBytes - length) {
      file.refuse(
          fmt::format("its tensors have {} bytes, and {} are behind the header: it was cut "
                      "short, or lengthened",
                      end, file.size() - kLengthBytes - length));
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

// The files of an index, and the tensors that it says are in each.
std::map<std::string, std::vector<std::string>> files_of_index(const InputFile& index) {
  if (index.size() > kMaxSafetensorsHeader) {
    index.refuse(fmt::format("{} bytes are too many for an index", index.size()));
  }
  const Json json = parsed_header(index, index.text(0, index.size()));
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
