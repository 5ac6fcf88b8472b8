#include "io/decoder/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "io/core/random.h"
#include "io/decoder/pixels.h"

namespace stoker {
namespace {

constexpr ResizeMethod kMethods[] = {ResizeMethod::bilinear, ResizeMethod::antialias};

struct Image {
  Image(int64_t image_width, int64_t image_height) : width(image_width), height(image_height) {
    pixels.resize(static_cast<size_t>(width * height * 3) + PixelView::kSlack);
  }
  ViewRows rows() const { return ViewRows({pixels.data(), width, height}); }
  uint8_t* at(int64_t x, int64_t y) { return &pixels[static_cast<size_t>(3 * (y * width + x))]; }

  int64_t width, height;
  std::vector<uint8_t> pixels;
};

Image noisy_image(int64_t width, int64_t height, uint64_t seed = 1) {
  Image image(width, height);
  Random random(seed);
  for (uint8_t& byte : image.pixels) byte = static_cast<uint8_t>(random.next());
  return image;
}

Box whole(const Image& image) {
  return {0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
}

// Memory as a loader's slots: aligned, if `offset` values are left out of it, so that results are
// streamed into it; with a guard on both sides.
template <class T>
class Slot {
 public:
  Slot(int64_t values, size_t offset, T guard)
      : values_(static_cast<size_t>(values)), guard_(guard), memory_(values_ + 4 * kGuard, guard) {
    void* start = memory_.data() + kGuard;
    size_t space = memory_.size() * sizeof(T);
    data_ = static_cast<T*>(std::align(64, values_ * sizeof(T), start, space)) + offset;
  }
  T* data() { return data_; }
  std::vector<T> take() const {
    const T* begin = memory_.data();
    const auto untouched = [this](const T* from, const T* to) {
      return std::all_of(from, to, [this](T value) { return value == guard_; });
    };
    EXPECT_TRUE(untouched(begin, data_) && untouched(data_ + values_, begin + memory_.size()))
        << "wrote outside";
    return {data_, data_ + values_};
  }

 private:
  static constexpr size_t kGuard = 64;
  size_t values_;
  T guard_;
  std::vector<T> memory_;
  T* data_ = nullptr;
};

std::vector<uint8_t> resized(ResizeMethod method, const Image& image, const Geometry& geometry,
                             Resampling resampling = best_resampling(), size_t offset = 0,
                             Store store = Store::streamed) {
  Slot<uint8_t> out(geometry.width * geometry.height * 3, offset, 0xa5);
  ViewRows rows = image.rows();
  Resizer(method, resampling).resize(rows, geometry, out.data(), store);
  return out.take();
}

TEST(Resize, the_same_size_is_a_copy) {
  Image image = noisy_image(37, 21);
  const std::vector<uint8_t> pixels(image.at(0, 0), image.at(0, 0) + 37 * 21 * 3);
  for (ResizeMethod method : kMethods) {
    EXPECT_EQ(resized(method, image, {whole(image), 37, 21}), pixels);
  }
}

TEST(Resize, a_crop_without_scaling_is_a_copy_of_its_pixels) {
  Image image = noisy_image(50, 40);
  for (ResizeMethod method : kMethods) {
    const auto out = resized(method, image, {{7, 5, 20, 10}, 20, 10});
    for (int64_t y = 0; y < 10; ++y) {
      ASSERT_TRUE(std::equal(&out[static_cast<size_t>(y * 60)],
                             &out[static_cast<size_t>(y * 60)] + 60, image.at(7, 5 + y)));
    }
  }
}

TEST(Resize, mirroring_is_exact_without_scaling) {
  Image image = noisy_image(30, 30);
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
  Image image = noisy_image(16, 16);
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
  Image image = noisy_image(64, 64), other = noisy_image(64, 64, 2);
  for (int64_t y = 10; y < 40; ++y) std::copy_n(image.at(8, y), 3 * 23, other.at(8, y));
  for (ResizeMethod method : kMethods) {
    for (int64_t size : {5, 23, 50}) {
      EXPECT_EQ(resized(method, image, {{8, 10, 23, 30}, size, size}),
                resized(method, other, {{8, 10, 23, 30}, size, size}));
    }
  }
}

TEST(Resize, a_resizer_keeps_nothing_of_the_last_image) {
  const Image a = noisy_image(120, 80), b = noisy_image(33, 200, 3);
  for (ResizeMethod method : kMethods) {
    Resizer resizer(method);
    std::vector<uint8_t> first(64 * 64 * 3), again(first), between(first);
    ViewRows rows_a = a.rows(), rows_b = b.rows();
    resizer.resize(rows_a, {whole(a), 64, 64}, first.data());
    resizer.resize(rows_b, {{1, 2, 30, 190}, 64, 64, true, true}, between.data());
    resizer.resize(rows_a, {whole(a), 64, 64}, again.data());
    EXPECT_EQ(again, first);
  }
}

// An image of which only the crop is there, as in a frame.
class CropRows final : public PixelRows {
 public:
  CropRows(const Image& crop, int64_t x, int64_t y, int64_t width, int64_t height)
      : PixelRows(width, height), crop_(crop), x_(x), y_(y) {}
  const uint8_t* row(int64_t y) override {
    return crop_.pixels.data() + ((y - y_) * crop_.width - x_) * 3;
  }

 private:
  const Image& crop_;
  const int64_t x_;
  const int64_t y_;
};

// AddressSanitizer sees what is read beside it.
TEST(Resize, only_the_crop_and_its_slack_need_be_memory) {
  Random random(11);
  for (int round = 0; round < 1000; ++round) {
    const auto side = [&](uint64_t max) { return 1 + static_cast<int64_t>(random.below(max)); };
    const Image crop = noisy_image(side(200), side(20), random.next());
    const int64_t x = side(100), y = side(9), size = side(90);
    const Box box{static_cast<double>(x), static_cast<double>(y), static_cast<double>(crop.width),
                  static_cast<double>(crop.height)};
    const Geometry geometry{box, size, 12, random.below(2) == 1};
    const ResizeMethod method = kMethods[round % 2];
    std::vector<uint8_t> expected;
    for (const Resampling& resampling : usable_resamplings()) {
      CropRows rows(crop, x, y, x + crop.width + side(50), y + crop.height + side(5));
      std::vector<uint8_t> out(static_cast<size_t>(size * 12 * 3));
      Resizer(method, resampling).resize(rows, geometry, out.data());
      if (expected.empty()) expected = out;
      ASSERT_EQ(out, expected) << crop.width << " at " << x << " -> " << size;
    }
  }
}

std::vector<float> normalised_planes(const std::vector<uint8_t>& pixels) {
  const size_t count = pixels.size() / 3;
  std::vector<float> planes(pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i) {
    planes[i % 3 * count + i / 3] = normalised(pixels[i], static_cast<int>(i % 3));
  }
  return planes;
}

std::vector<float> resized_planes(ResizeMethod method, const Image& image, const Geometry& geometry,
                                  Resampling resampling, size_t offset) {
  Slot<float> out(geometry.width * geometry.height * 3, offset, 1e9f);
  ViewRows rows = image.rows();
  Resizer(method, resampling).resize(rows, geometry, out.data());
  return out.take();
}

// Every geometry that could break vector code: tiny images, sizes around a group, large ratios.
TEST(Resize, all_processors_give_the_same_pixels) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    const auto side = [&](uint64_t max) { return 1 + static_cast<int64_t>(random.below(max)); };
    const bool large = round % 100 == 0;
    const Image image = noisy_image(side(large ? 2000 : 90), side(large ? 500 : 90), random.next());
    const double x = random.uniform(0, static_cast<double>(image.width) - 0.75);
    const double y = random.uniform(0, static_cast<double>(image.height) - 0.75);
    const Box part{x, y, random.uniform(0.5, static_cast<double>(image.width) - x),
                   random.uniform(0.5, static_cast<double>(image.height) - y)};
    const Box crop = round % 2 == 0 ? whole(image) : part;
    const int64_t width = round % 3 == 0 ? 16 * side(6) : side(40);
    const Geometry geometry{crop, width, side(40), random.below(2) == 1, random.below(2) == 1};
    const ResizeMethod method = kMethods[random.below(2)];
    const size_t offset = random.below(3);
    const auto expected = resized(method, image, geometry, portable_resampling());
    for (const Resampling& resampling : usable_resamplings()) {
      for (const Store store : {Store::streamed, Store::cached}) {
        ASSERT_EQ(resized(method, image, geometry, resampling, offset, store), expected)
            << image.width << "x" << image.height << " -> " << geometry.width << "x"
            << geometry.height;
      }
      ASSERT_EQ(resized_planes(method, image, geometry, resampling, offset),
                normalised_planes(expected));
    }
  }
}

}  // namespace
}  // namespace stoker
