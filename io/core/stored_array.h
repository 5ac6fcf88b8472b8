#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace stoker {

// Numbers as a data set stores them, in C order. A value.
struct StoredArray {
  // As NumPy calls it: uint8, int16, float32.
  std::string type;
  std::vector<int64_t> shape;
  bool operator==(const StoredArray&) const = default;
};

// "3 x 32 x 32 uint8". Any thread.
inline std::string text_of(const StoredArray& array) {
  std::string text;
  for (const int64_t size : array.shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text + " " + array.type;
}
// "3 x 32 x 32 float32, 32 x 32 float32"
inline std::string text_of(std::span<const StoredArray> arrays) {
  std::string text;
  for (const StoredArray& array : arrays) text += (text.empty() ? "" : ", ") + text_of(array);
  return text;
}

// How many numbers it has, and whether another array has the same numbers in the same places:
// axes of length 1 do not count.
inline uint64_t elements_of(const StoredArray& array) {
  uint64_t product = 1;
  for (const int64_t size : array.shape) product *= static_cast<uint64_t>(size);
  return product;
}
inline bool same_array(const StoredArray& a, const StoredArray& b) {
  const auto axes = [](std::vector<int64_t> shape) {
    std::erase(shape, 1);
    return shape;
  };
  return a.type == b.type && axes(a.shape) == axes(b.shape);
}

// Why somebody can't take samples that are these arrays, one behind the other, and what to do, as
// the end of a message: "takes 32 x 32 x 3 uint8: set ...". Empty: they are taken.
using ArrayVerdict = std::function<std::string(std::span<const StoredArray>)>;

}  // namespace stoker
