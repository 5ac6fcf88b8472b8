#include "io/decoder/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "io/core/random.h"

namespace stoker {
namespace {

constexpr ResizeMethod kMethods[] = {ResizeMethod::bilinear, ResizeMethod::antialias};

struct Image {
  Image(int64_t image_width, int64_t image_height) : width(image_width), height(image_height) {
    pixels.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
  }
  PixelView view() const { return {pixels.data(), width, height}; }
  uint8_t* at(int64_t x, int64_t y) { return &pixels[static_cast<size_t>(3 * (y * width + x))]; }

  int64_t width, height;
  std::vector<uint8_t> pixels;
};

Image noise(int64_t width, int64_t height, uint64_t seed = 1) {
  Image image(width, height);
  Random random(seed);
  for (uint8_t& byte : image.pixels) byte = static_cast<uint8_t>(random.next());
  return image;
}

Box whole(const Image& image) {
  return {0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
}

std::vector<uint8_t> resized(ResizeMethod method, const Image& image, const Geometry& geometry,
                             Resampling resampling = best_resampling()) {
  constexpr size_t kGuard = 64;
  std::vector<uint8_t> out(static_cast<size_t>(geometry.width * geometry.height * 3) + kGuard,
                           0xa5);
  Resizer(method, resampling).resize(image.view(), geometry, out.data());
  EXPECT_TRUE(std::all_of(out.end() - kGuard, out.end(), [](uint8_t byte) { return byte == 0xa5; }))
      << "wrote behind the end";
  out.resize(out.size() - kGuard);
  return out;
}

TEST(Resize, the_same_size_is_a_copy) {
  Image image = noise(37, 21);
  const std::vector<uint8_t> pixels(image.at(0, 0), image.at(0, 0) + 37 * 21 * 3);
  for (ResizeMethod method : kMethods) {
    EXPECT_EQ(resized(method, image, {whole(image), 37, 21}), pixels);
  }
}

TEST(Resize, a_crop_without_scaling_is_a_copy_of_its_pixels) {
  Image image = noise(50, 40);
  for (ResizeMethod method : kMethods) {
    const auto out = resized(method, image, {{7, 5, 20, 10}, 20, 10});
    for (int64_t y = 0; y < 10; ++y) {
      ASSERT_TRUE(std::equal(&out[static_cast<size_t>(y * 60)],
                             &out[static_cast<size_t>(y * 60)] + 60, image.at(7, 5 + y)));
    }
  }
}

TEST(Resize, mirroring_is_exact_without_scaling) {
  Image image = noise(30, 30);
  for (ResizeMethod method : kMethods) {
    const auto out = resized(method, image, {whole(image), 30, 30, true, true});
    for (int64_t y = 0; y < 30; ++y) {
      for (int64_t x = 0; x < 30; ++x) {
        ASSERT_TRUE(std::equal(image.at(29 - x, 29 - y), image.at(29 - x, 29 - y) + 3,
                               &out[static_cast<size_t>(3 * (y * 30 + x))]));
      }
    }
  }
}

TEST(Resize, one_colour_stays_that_colour_at_every_scale) {
  for (int level : {0, 1, 127, 128, 254, 255}) {
    Image image(97, 61);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<uint8_t>(level));
    for (ResizeMethod method : kMethods) {
      for (int64_t size : {1, 2, 3, 5, 13, 60, 64, 97, 211}) {
        const auto out = resized(method, image, {whole(image), size, size});
        ASSERT_EQ(out, std::vector<uint8_t>(out.size(), static_cast<uint8_t>(level))) << size;
      }
    }
  }
}

TEST(Resize, a_mean_over_many_pixels_is_right) {
  Image image(4096, 2048);
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = i % 2 == 0 ? 0 : 255;
  for (int64_t size : {1, 2, 4}) {
    const auto out = resized(ResizeMethod::antialias, image, {whole(image), size, size});
    for (uint8_t byte : out) ASSERT_NEAR(byte, 127.5, 1);
  }
}

TEST(Resize, bilinear_halves_by_averaging_two_by_two) {
  Image image = noise(16, 16);
  const auto out = resized(ResizeMethod::bilinear, image, {whole(image), 8, 8});
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 8; ++x) {
      const int sum = *image.at(2 * x, 2 * y) + *image.at(2 * x + 1, 2 * y) +
                      *image.at(2 * x, 2 * y + 1) + *image.at(2 * x + 1, 2 * y + 1);
      ASSERT_NEAR(out[static_cast<size_t>(3 * (y * 8 + x))], sum / 4.0, 0.5 + 1 / 128.0);
    }
  }
}

TEST(Resize, nothing_outside_of_the_crop_is_seen) {
  Image image = noise(64, 64), other = noise(64, 64, 2);
  for (int64_t y = 10; y < 40; ++y) std::copy_n(image.at(8, y), 3 * 23, other.at(8, y));
  for (ResizeMethod method : kMethods) {
    for (int64_t size : {5, 23, 50}) {
      EXPECT_EQ(resized(method, image, {{8, 10, 23, 30}, size, size}),
                resized(method, other, {{8, 10, 23, 30}, size, size}));
    }
  }
}

TEST(Resize, a_resizer_keeps_nothing_of_the_last_image) {
  const Image a = noise(120, 80), b = noise(33, 200, 3);
  for (ResizeMethod method : kMethods) {
    Resizer resizer(method);
    std::vector<uint8_t> first(64 * 64 * 3), again(first), between(first);
    resizer.resize(a.view(), {whole(a), 64, 64}, first.data());
    resizer.resize(b.view(), {{1, 2, 30, 190}, 64, 64, true, true}, between.data());
    resizer.resize(a.view(), {whole(a), 64, 64}, again.data());
    EXPECT_EQ(again, first);
  }
}

// Every geometry that could break vector code: tiny images, sizes around a group, large ratios.
TEST(Resize, all_processors_give_the_same_pixels) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto side = [&](uint64_t max) { return 1 + static_cast<int64_t>(random.below(max)); };
    const bool large = round % 100 == 0;
    const Image image = noise(side(large ? 2000 : 90), side(large ? 500 : 90), random.next());
    const double x = random.uniform(0, static_cast<double>(image.width) - 0.75);
    const double y = random.uniform(0, static_cast<double>(image.height) - 0.75);
    const Box part{x, y, random.uniform(0.5, static_cast<double>(image.width) - x),
                   random.uniform(0.5, static_cast<double>(image.height) - y)};
    const Box crop = round % 2 == 0 ? whole(image) : part;
    const Geometry geometry{crop, side(40), side(40), random.below(2) == 1, random.below(2) == 1};
    const ResizeMethod method = kMethods[random.below(2)];
    ASSERT_EQ(resized(method, image, geometry),
              resized(method, image, geometry, portable_resampling()))
        << image.width << "x" << image.height << " -> " << geometry.width << "x" << geometry.height;
  }
}

}  // namespace
}  // namespace stoker
