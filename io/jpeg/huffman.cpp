#include "io/jpeg/huffman.h"

#include <algorithm>

namespace stoker {

bool HuffmanCode::assign(Bytes definition) {
  limit_.fill(0);
  uint32_t code = 0;
  int32_t symbols = 0;
  for (size_t bits = 1; bits <= 16; ++bits) {
    const int32_t count = definition[bits - 1];
    offset_[bits] = symbols - static_cast<int32_t>(code);
    code += static_cast<uint32_t>(count);
    symbols += count;
    // No code is all ones.
    if (count > 0 && code >= 1u << bits) return false;
    limit_[bits] = code << (16 - bits);
    code <<= 1;
  }
  std::copy(definition.begin() + 16, definition.end(), symbols_.begin());
  return true;
}

HuffmanSymbol HuffmanCode::find(uint32_t next) const {
  size_t bits = 1;
  // It compares all of them, so that no jump can be mispredicted.
  for (size_t shorter = 1; shorter <= 16; ++shorter) bits += next >= limit_[shorter] ? 1 : 0;
  if (bits > 16) return {};
  return {static_cast<uint8_t>(bits), symbol(bits, next >> (16 - bits))};
}

}  // namespace stoker
