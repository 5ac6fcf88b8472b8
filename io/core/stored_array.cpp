#include "io/core/stored_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace stoker {

std::string text_of(const StoredArray& array) {
  return fmt::format("{} {}", fmt::join(array.shape, " x "), array.type);
}

std::string text_of(std::span<const StoredArray> arrays) {
  std::string text;
  for (const StoredArray& array : arrays) text += (text.empty() ? "" : ", ") + text_of(array);
  return text;
}

uint64_t elements_of(const StoredArray& array) {
  uint64_t product = 1;
  for (const int64_t size : array.shape) product *= static_cast<uint64_t>(size);
  return product;
}

bool same_array(const StoredArray& a, const StoredArray& b) {
  const auto axes = [](std::vector<int64_t> shape) {
    std::erase(shape, 1);
    return shape;
  };
  return a.type == b.type && axes(a.shape) == axes(b.shape);
}

}  // namespace stoker
