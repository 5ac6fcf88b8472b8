#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "io/core/memory.h"

namespace stoker {

// MD5 (RFC 1321), for the checksums that publishers of data sets state. It guards against damage,
// not against an attacker. A value; one thread at a time.
class Md5 {
 public:
  void update(Bytes bytes);
  // Of all bytes so far, in hex. Call it once, last.
  std::string finish();

 private:
  void block(const uint8_t* bytes);
  std::array<uint32_t, 4> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::array<uint8_t, 64> pending_{};
  uint64_t size_ = 0;
};

}  // namespace stoker
