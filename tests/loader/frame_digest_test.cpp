#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "io/core/sample_spec.h"
#include "io/loader/batch_job.h"

// Of a frame only the header and what it names count; what an earlier sample left behind it does
// not.

namespace stoker {
namespace {

const SampleSpec kFrames{8, 8, 3, PixelType::uint8, 256};

// Two frames of 10 and 20 bytes in places that hold `rest` otherwise.
Batch two_frames(uint8_t rest) {
  Batch batch;
  batch.size = 2;
  batch.pixels = std::shared_ptr<uint8_t>(new uint8_t[512], std::default_delete<uint8_t[]>());
  batch.labels = std::make_shared<std::vector<int64_t>>(2, 7);
  std::memset(batch.pixels.get(), rest, 512);
  for (uint32_t i = 0; i < 2; ++i) {
    FrameHeader header;
    header.bytes = 10 * (i + 1);
    uint8_t* place = batch.pixels.get() + i * kFrames.bytes();
    std::memcpy(place, &header, sizeof header);
    std::memset(place + kFrameHeader, 0x33, header.bytes);
  }
  return batch;
}

TEST(FrameDigest, covers_what_is_used) {
  const Batch batch = two_frames(0x00);
  EXPECT_EQ(used_bytes(batch.pixels.get(), 2, kFrames), 2 * kFrameHeader + 30);
  EXPECT_EQ(sample_digests(batch, kFrames), sample_digests(two_frames(0xff), kFrames));
  batch.pixels.get()[kFrames.bytes() + kFrameHeader + 19] ^= 1;
  EXPECT_NE(sample_digests(batch, kFrames), sample_digests(two_frames(0x00), kFrames));
}

}  // namespace
}  // namespace stoker
