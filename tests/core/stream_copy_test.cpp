#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "io/core/system/memory.h"

namespace stoker {
namespace {

// Lengths around the limits of what is streamed, blocks of four pages and vectors, from and to
// every alignment: what is copied is right, and nothing around it is touched.
TEST(StreamCopy, copies_exactly_what_it_is_asked_for) {
  constexpr size_t kMargin = 128;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{3072}, size_t{32767}, size_t{32768},
                             size_t{32800}, size_t{65535}, size_t{65536}, size_t{150528}}) {
    std::vector<uint8_t> from(bytes + kMargin);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 31 + i / 251);
    for (size_t shift = 0; shift<64; shift += bytes> 40000 ? 13 : 1) {
      std::vector<uint8_t> to(bytes + 2 * kMargin, 0xee);
      uint8_t* const out = to.data() + kMargin - shift;
      const uint8_t* const in = from.data() + shift % 7;
      stream_copy(out, in, bytes, shift % 2 == 0 ? nullptr : in);
      ASSERT_TRUE(std::equal(out, out + bytes, in)) << bytes << " " << shift;
      ASSERT_EQ(std::count(to.data(), out, 0xee), out - to.data()) << bytes << " " << shift;
      ASSERT_EQ(std::count(out + bytes, to.data() + to.size(), 0xee),
                to.data() + to.size() - out - bytes)
          << bytes << " " << shift;
    }
  }
}

}  // namespace
}  // namespace stoker
