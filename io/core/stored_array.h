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
std::string text_of(const StoredArray& array);
// "3 x 32 x 32 float32, 32 x 32 float32"
std::string text_of(std::span<const StoredArray> arrays);

// How many numbers it has, and whether another array has the same numbers in the same places:
// axes of length 1 do not count.
uint64_t elements_of(const StoredArray& array);
bool same_array(const StoredArray& a, const StoredArray& b);

// Why somebody can't take samples that are these arrays, one behind the other, and what to do, as
// the end of a message: "takes 32 x 32 x 3 uint8: set ...". Empty: they are taken.
using ArrayVerdict = std::function<std::string(std::span<const StoredArray>)>;

}  // namespace stoker
