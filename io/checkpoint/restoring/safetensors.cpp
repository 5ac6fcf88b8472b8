#include "io/checkpoint/restoring/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "io/core/error.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

using Json = nlohmann::json;

// An object of tensors, each an object with two arrays.
constexpr JsonLimits kHeaderLimits{8, 5'000'000, false};

[[noreturn]] void refuse_header(const std::string& path, const std::string& why) {
  throw Error(ExitCode::storage, path + ": " + why);
}

uint64_t prefix_value(Bytes prefix) {
  uint64_t value = 0;
  for (size_t i = kSafetensorsPrefix; i-- > 0;) value = value << 8 | prefix[i];
  return value;
}

// Bytes of a tensor. Empty: dtype or shape are impossible.
std::optional<uint64_t> stored_bytes(const TensorInfo& tensor) {
  const uint64_t element = safetensors_dtype_bytes(tensor.dtype);
  const std::optional<uint64_t> elements = tensor_bytes("U8", tensor.shape);
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
  if (element == 0 || !elements || *elements > kMost / element) return std::nullopt;
  return *elements * element;
}

class HeaderParser {
 public:
  HeaderParser(Bytes start, uint64_t file_bytes, const std::string& path)
      : path_(path), file_bytes_(file_bytes) {
    header_.data_begin = start.size();
    const Bytes text = start.subspan(kSafetensorsPrefix);
    try {
      json_ = parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, kHeaderLimits);
    } catch (const Error& error) {
      refuse_header(path_, std::string("damaged header, or no safetensors file: ") + error.what());
    }
    if (!json_.is_object()) refuse_header(path_, "damaged header: it is no object of tensors");
  }

  SafetensorsHeader run() {
    for (const auto& [name, entry] : json_.items()) {
      name == "__metadata__" ? add_metadata(entry) : add_tensor(name, entry);
    }
    std::ranges::sort(header_.tensors, {}, [](const StoredTensor& tensor) {
      return std::pair(tensor.begin, tensor.begin + tensor.bytes);
    });
    check_places();
    return std::move(header_);
  }

 private:
  void add_metadata(const Json& entry) {
    for (const auto& [key, value] : entry.items()) {
      if (!entry.is_object() || !value.is_string()) {
        refuse_header(path_, "damaged header: __metadata__ must map text to text");
      }
      header_.metadata[key] = value.get<std::string>();
    }
  }

  // The whole numbers of a list, none below 0.
  std::vector<int64_t> numbers(const std::string& name, const Json& entry, const char* key) {
    std::vector<int64_t> numbers;
    const auto list = entry.find(key);
    bool good = list != entry.end() && list->is_array();
    if (good) {
      for (const Json& value : *list) {
        const std::optional<int64_t> number = find_whole_number(value);
        good = good && number && *number >= 0;
        numbers.push_back(number.value_or(0));
      }
    }
    if (!good) refuse_header(path_, fmt::format("tensor {}: damaged header: no {}", name, key));
    return numbers;
  }

  void add_tensor(const std::string& name, const Json& entry) {
    if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string()) {
      refuse_header(path_, fmt::format("tensor {}: damaged header: no dtype", name));
    }
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype = entry["dtype"].get<std::string>();
    tensor.shape = numbers(name, entry, "shape");
    const std::vector<int64_t> offsets = numbers(name, entry, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      refuse_header(path_,
                    fmt::format("tensor {}: damaged header: data_offsets must be two offsets, the "
                                "smaller one first",
                                name));
    }
    if (safetensors_dtype_bytes(tensor.dtype) == 0) {
      refuse_header(
          path_, fmt::format("tensor {}: its dtype is {}, which this program does not know", name,
                             tensor.dtype));
    }
    tensor.bytes = static_cast<uint64_t>(offsets[1] - offsets[0]);
    tensor.begin = header_.data_begin + static_cast<uint64_t>(offsets[0]);
    if (tensor.begin + tensor.bytes > file_bytes_) {
      refuse_header(path_,
                    fmt::format("tensor {} ends at byte {}, and the file at {}: it was cut, or not "
                                "written as a whole: fetch it again",
                                name, tensor.begin + tensor.bytes, file_bytes_));
    }
    if (stored_bytes(tensor) != tensor.bytes) {
      refuse_header(
          path_, fmt::format("tensor {}: {} bytes do not agree with dtype {} and the shape", name,
                             tensor.bytes, tensor.dtype));
    }
    header_.tensors.push_back(std::move(tensor));
  }

  // One behind the other, from the first byte to the last.
  void check_places() const {
    uint64_t end = header_.data_begin;
    for (const StoredTensor& tensor : header_.tensors) {
      if (tensor.begin != end) {
        refuse_header(path_,
                      fmt::format("tensor {} begins at byte {}, and those before it end at {}: "
                                  "damaged header",
                                  tensor.name, tensor.begin, end));
      }
      end += tensor.bytes;
    }
    if (end != file_bytes_) {
      refuse_header(path_,
                    fmt::format("its tensors end at byte {}, and the file at {}: damaged header, "
                                "or a file that something was added to",
                                end, file_bytes_));
    }
  }

  const std::string& path_;
  const uint64_t file_bytes_;
  Json json_;
  SafetensorsHeader header_;
};

}  // namespace

uint64_t safetensors_dtype_bytes(const std::string& dtype) {
  static const std::pair<const char*, uint64_t> others[] = {
      {"U64", 8},     {"U32", 4},         {"U16", 2},         {"C64", 8},    {"F8_E4M3", 1},
      {"F8_E5M2", 1}, {"F8_E4M3FNUZ", 1}, {"F8_E5M2FNUZ", 1}, {"F8_E8M0", 1}};
  for (const auto& [name, bytes] : others) {
    if (dtype == name) return bytes;
  }
  return dtype_bytes(dtype);
}

uint64_t safetensors_header_bytes(Bytes prefix, uint64_t file_bytes, const std::string& path) {
  if (prefix.size() < kSafetensorsPrefix) {
    refuse_header(path, fmt::format("{} bytes: no safetensors file, or cut off", file_bytes));
  }
  const uint64_t header = prefix_value(prefix);
  if (header > kMaxSafetensorsHeader) {
    refuse_header(path,
                  fmt::format("no safetensors file: its header would have {} bytes, and at most {} "
                              "are allowed",
                              header, kMaxSafetensorsHeader));
  }
  if (header > file_bytes - kSafetensorsPrefix) {
    refuse_header(
        path, fmt::format("no safetensors file, or cut off: its header ends at byte {}, and the "
                          "file at {}",
                          kSafetensorsPrefix + header, file_bytes));
  }
  return kSafetensorsPrefix + header;
}

SafetensorsHeader parse_safetensors(Bytes start, uint64_t file_bytes, const std::string& path) {
  return HeaderParser(start, file_bytes, path).run();
}

namespace {

constexpr JsonLimits kIndexLimits{8, 20 * kMaxForeignTensors};

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw Error(ExitCode::storage, path + ": " + why);
}

nlohmann::json index_json(std::string_view text, const std::string& path) {
  if (text.size() > kMaxSafetensorsHeader) {
    refuse_index(path, fmt::format("{} bytes are too many for an index", text.size()));
  }
  try {
    return parse_json(text, kIndexLimits);
  } catch (const Error& error) {
    refuse_index(path,
                 fmt::format("it is not an index of safetensors files, or it is damaged: it is {}",
                             error.what()));
  }
}

}  // namespace

bool is_safetensors_index(std::string_view path) { return path.ends_with(".index.json"); }

std::map<std::string, std::vector<std::string>> parse_safetensors_index(std::string_view text,
                                                                        const std::string& path) {
  const nlohmann::json json = index_json(text, path);
  if (!json.is_object()) {
    refuse_index(path,
                 "it is not an index of safetensors files, or it is damaged: it is not an object");
  }
  const auto map = json.find("weight_map");
  if (map == json.end() || !map->is_object()) {
    refuse_index(path, "it has no weight_map, so it is not an index of safetensors files");
  }
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      refuse_index(path,
                   fmt::format("tensor {} is in {}, which is not the name of a file in its folder",
                               tensor, json_text(file)));
    }
    files[name].push_back(tensor);
  }
  if (files.size() > kMaxForeignFiles) {
    refuse_index(path, fmt::format("it names {} files; at most {} are read", files.size(),
                                   kMaxForeignFiles));
  }
  return files;
}

void keep_indexed(std::vector<StoredTensor>& tensors, const std::vector<std::string>& named,
                  const std::string& path) {
  std::set<std::string> missing(named.begin(), named.end());
  std::erase_if(tensors, [&](const StoredTensor& one) { return missing.erase(one.name) == 0; });
  if (missing.empty()) return;
  refuse_index(path, fmt::format("it has no tensor {}, which its index says is in it: they do not "
                                 "agree on tensor {}: fetch all of its files again",
                                 *missing.begin(), *missing.begin()));
}

}  // namespace stoker
