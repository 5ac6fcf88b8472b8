#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>

#include "io/core/random.h"
#include "io/decoder/augment.h"
#include "io/decoder/jpeg_codec.h"
#include "io/decoder/pixels.h"
#include "tests/decoder/images.h"

namespace stoker {

// One of our decoders of JPEG against libjpeg-turbo: the same pixels, byte for byte.
template <class FastDecoder>
class PixelsOfLibjpeg : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fast_) << "this machine has no AVX2: nothing is tested"; }

  static int64_t reduced(int64_t size, int64_t reduction) {
    return (size + reduction - 1) / reduction;
  }

  static Pixels reference(const File& file, int64_t reduction = 1) {
    JpegCodec codec;
    const JpegHeader header = read_jpeg_header(file);
    const int64_t width = reduced(header.width, reduction);
    const int64_t height = reduced(header.height, reduction);
    Pixels pixels(static_cast<size_t>(width * height * 3));
    codec.decode(file, header, width, height, pixels.data());
    return pixels;
  }

  // How many of the needed rows differ; empty: it gave up.
  std::optional<int64_t> wrong_rows(const File& file, const Pixels& expected, const Rect& needed,
                                    int64_t reduction = 1) {
    // An exact copy on the heap, so that the address sanitizer sees every read behind its end.
    const File exact(file.begin(), file.end());
    const JpegHeader header = read_jpeg_header(exact, &segments_);
    PixelRows* rows = fast_->decode(exact, header, segments_, needed, reduction);
    if (rows == nullptr) return std::nullopt;
    EXPECT_EQ(rows->width(), reduced(header.width, reduction));
    EXPECT_EQ(rows->height(), reduced(header.height, reduction));
    const int64_t x = needed.x / reduction;
    const int64_t width = reduced(needed.x + needed.width, reduction) - x;
    int64_t wrong = 0;
    for (int64_t y = needed.y / reduction; y < reduced(needed.y + needed.height, reduction); ++y) {
      const auto at = static_cast<size_t>(y * rows->width() + x) * 3;
      wrong += std::memcmp(rows->row(y) + x * 3, expected.data() + at,
                           static_cast<size_t>(width) * 3) != 0;
    }
    return wrong;
  }
  std::optional<int64_t> wrong_rows(const File& file, int64_t reduction = 1) {
    const JpegHeader header = read_jpeg_header(file);
    return wrong_rows(file, reference(file, reduction), {0, 0, header.width, header.height},
                      reduction);
  }

  // Something of everything: a gradient, an edge, noise of any strength.
  Pixels picture(int width, int height, int channels) {
    Pixels pixels;
    const uint64_t noise = 1 + random_.below(256);
    const int edge = static_cast<int>(random_.below(static_cast<uint64_t>(width)));
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < channels; ++c) {
          const int value = (x * (c + 1) + y * 2) % 200 + (x > edge ? 60 * c : 0);
          pixels.push_back(static_cast<uint8_t>(value + static_cast<int>(random_.below(noise))));
        }
      }
    }
    return pixels;
  }
  int any(int least, int below) {
    return least + static_cast<int>(random_.below(static_cast<uint64_t>(below - least)));
  }
  Rect any_part(const JpegHeader& header) {
    const auto width = static_cast<int>(header.width), height = static_cast<int>(header.height);
    const int x = any(0, width), y = any(0, height);
    return {x, y, any(1, width - x + 1), any(1, height - y + 1)};
  }

  std::unique_ptr<FastDecoder> fast_ = FastDecoder::create();
  std::vector<JpegSegment> segments_;
  Random random_{1};
};

}  // namespace stoker
