#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "tests/decoder/images.h"

// Counts what this program takes from the heap. Not inlined: GCC would see `new` meet `free`.
namespace {
std::atomic<int64_t> allocations{0};
std::atomic<size_t> largest_allocation{0};
}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (bytes > largest_allocation) largest_allocation = bytes;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace stoker {
namespace {

File real_file() { return read_file(mini("watch/image_0072.jpg")); }

TEST(DecoderMemory, a_warm_session_allocates_nothing) {
  const auto decoder =
      make_decoder("{type: turbojpeg, augment: {random_resized_crop: {}, flip: true}}");
  const auto session = decoder->open();
  const File file = real_file();
  Pixels out(decoder->spec().bytes());
  for (uint64_t seed = 0; seed < 50; ++seed) session->decode(file, {true, seed}, out.data());
  session->decode(file, {false, 0}, out.data());
  const int64_t before = allocations;
  for (uint64_t seed = 0; seed < 50; ++seed) session->decode(file, {true, seed}, out.data());
  session->decode(file, {false, 0}, out.data());
  EXPECT_EQ(allocations - before, 0);
}

TEST(DecoderMemory, limits_are_checked_before_any_is_taken_for_the_image) {
  const auto decoder = make_decoder("{type: turbojpeg}");
  const auto session = decoder->open();
  Pixels out(decoder->spec().bytes());
  largest_allocation = 0;
  for (const int side : {16384, 16385, 65535}) {
    EXPECT_THROW(session->decode(with_size(real_file(), side, side), {}, out.data()), BadSample);
  }
  EXPECT_LT(largest_allocation, 1u << 16);
}

}  // namespace
}  // namespace stoker
