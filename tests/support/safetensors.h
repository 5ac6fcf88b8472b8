#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/short_tests.h"

namespace stoker {

// A safetensors file as others write them: the length of the header, the header, the data.
inline std::string safetensors_of(const std::string& header, const std::string& data) {
  std::string text;
  for (int i = 0; i < 64; i += 8) text += static_cast<char>(header.size() >> i);
  return text + header + data;
}

// A tensor of such a file.
struct WrittenTensor {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

// Behind the header's JSON come `padding` blanks, so that data may begin anywhere.
inline std::string safetensors_of(const std::vector<WrittenTensor>& tensors, size_t padding = 0) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const WrittenTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  return safetensors_of(header.dump() + std::string(padding, ' '), data);
}

// Any bytes, the same for the same seed.
inline std::string some_bytes(size_t count, uint64_t seed) {
  std::string bytes(count, '\0');
  fill_any(bytes.data(), count, seed);
  return bytes;
}

}  // namespace stoker
