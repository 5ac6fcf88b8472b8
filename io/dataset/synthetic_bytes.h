#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stoker {

// A file that looks like byte code, of exactly `bytes` bytes: lines of 64 bytes out of few that are
// its class's own, each with some bytes changed, so that as a grey image it has a texture which a
// model can learn. A pure function of its arguments. Any thread. Takes about 1 ms a MB.
std::vector<uint8_t> synthetic_bytes(size_t bytes, int64_t label, uint64_t seed);

}  // namespace stoker
