#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "tests/decoder/images.h"
#include "tests/support/datasets.h"

// Counts what this program takes from the heap. Not inlined: GCC would see `new` meet `free`.
namespace {
std::atomic<int64_t> allocations{0};
std::atomic<size_t> largest_allocation{0};

void* take(size_t bytes) {
  ++allocations;
  if (bytes > largest_allocation) largest_allocation = bytes;
  return std::malloc(bytes);
}
}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = take(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return take(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace stoker {
namespace {

File large_file() { return read_file(mini("watch/image_0072.jpg")); }

class DecoderMemory : public testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Decoder> decoder_with(const std::string& options) {
    return make_decoder(std::string("{type: ") + GetParam() + options + "}");
  }
};
INSTANTIATE_TEST_SUITE_P(of, DecoderMemory, testing::Values("auto", "jpeg", "turbojpeg"),
                         [](const auto& type) { return type.param; });

TEST_P(DecoderMemory, a_warm_session_allocates_nothing) {
  const auto decoder = decoder_with(", augment: {random_resized_crop: {}, flip: true}");
  const auto session = decoder->open();
  const File files[] = {large_file(), progressive(large_file())};
  Pixels out(decoder->spec().bytes());
  const auto decode_all = [&] {
    for (uint64_t seed = 0; seed < 50; ++seed) {
      session->decode(files[seed % 2], {true, seed}, out.data());
    }
    for (const File& file : files) session->decode(file, {false, 0}, out.data());
  };
  decode_all();
  const int64_t before = allocations;
  decode_all();
  EXPECT_EQ(allocations - before, 0);
}

TEST(KeptPixels, an_epoch_of_kept_pixels_allocates_nothing) {
  TestDataset setup(posix_storage(mini("")));
  const Dataset& dataset = setup.build(
      "{type: decoded, inner: {type: image_folder, storage: data, split: {train_per_class: 1}}, "
      "decoder: {type: turbojpeg, size: 96}}");
  const auto decoder = make_decoder("{type: raw, size: 96, width: 96, height: 96}");
  const auto session = decoder->open();
  Pixels out(decoder->spec().bytes());
  Buffer scratch;
  const auto epoch = [&] {
    for (int64_t i = 0; i < dataset.size(Split::train); ++i) {
      session->decode(dataset.read(Split::train, i, scratch).bytes, {true, 1}, out.data());
    }
  };
  epoch();
  const int64_t before = allocations;
  epoch();
  EXPECT_EQ(allocations - before, 0);
}

TEST_P(DecoderMemory, limits_are_checked_before_any_is_taken_for_the_image) {
  const auto decoder = decoder_with("");
  const auto session = decoder->open();
  Pixels out(decoder->spec().bytes());
  largest_allocation = 0;
  for (const int side : {16384, 16385, 65535}) {
    EXPECT_THROW(session->decode(with_size(large_file(), side, side), {}, out.data()), BadSample);
  }
  EXPECT_LT(largest_allocation, 1u << 16);
}

}  // namespace
}  // namespace stoker
