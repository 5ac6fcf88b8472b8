#include "io/dataset/synthetic_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "io/core/random.h"

namespace stoker {
namespace {

using CodeLine = std::array<uint8_t, 64>;

// Runs of a few values: instructions and their operands.
CodeLine draw_line(Random& random) {
  CodeLine line{};
  for (size_t at = 0; at < line.size();) {
    const size_t run = std::min<size_t>(1 + random.below(12), line.size() - at);
    std::memset(line.data() + at, static_cast<int>(random.below(256)), run);
    at += run;
  }
  return line;
}

}  // namespace

std::vector<uint8_t> synthetic_bytes(size_t bytes, int64_t label, uint64_t seed) {
  std::array<CodeLine, 8> lines;
  Random of_class(mix(7, static_cast<uint64_t>(label)));
  for (CodeLine& line : lines) line = draw_line(of_class);
  Random random(seed);
  std::vector<uint8_t> out(bytes);
  for (size_t at = 0; at < bytes; at += sizeof(CodeLine)) {
    uint64_t bits = random.next();
    CodeLine line = lines[bits % lines.size()];
    for (int change = 0; change < 4; ++change) {
      bits >>= 14;
      line[bits % line.size()] = static_cast<uint8_t>(bits >> 6);
    }
    std::memcpy(out.data() + at, line.data(), std::min(line.size(), bytes - at));
  }
  return out;
}

}  // namespace stoker
