#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "io/dataset/synthetic_image.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

Pixels decode(const std::string& jpeg) {
  Pixels result;
  int subsampling = 0;
  int colours = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(jpeg.data());
  tjhandle handle = tjInitDecompress();
  EXPECT_EQ(tjDecompressHeader3(handle, bytes, jpeg.size(), &result.width, &result.height,
                                &subsampling, &colours),
            0);
  result.rgb.resize(static_cast<size_t>(result.width) * static_cast<size_t>(result.height) * 3);
  EXPECT_EQ(tjDecompress2(handle, bytes, jpeg.size(), result.rgb.data(), result.width, 0,
                          result.height, TJPF_RGB, 0),
            0);
  tjDestroy(handle);
  return result;
}

std::array<double, 3> mean_colour(const Pixels& pixels) {
  std::array<double, 3> sum{};
  for (size_t i = 0; i < pixels.rgb.size(); ++i) sum[i % 3] += pixels.rgb[i];
  for (double& value : sum) value /= static_cast<double>(pixels.rgb.size() / 3);
  return sum;
}

struct SyntheticTest : testing::Test {
  TestDataset data{make_storage("{type: memory}")};
};

TEST_F(SyntheticTest, labels_go_round_and_images_keep_to_them) {
  const Dataset& dataset = data.build(
      "{type: synthetic, samples: 100, test_samples: 10, classes: 4, unique: 10, image: {width: "
      "64, height: 48}}");
  EXPECT_EQ(dataset.classes(),
            (std::vector<std::string>{"class_000", "class_001", "class_002", "class_003"}));
  EXPECT_EQ(dataset.size(Split::train), 100);
  EXPECT_EQ(dataset.size(Split::test), 10);
  const SampleInfo info = dataset.info(Split::train, 17);
  EXPECT_EQ(info.key, "synthetic/17");
  EXPECT_EQ(info.label, 1);
  EXPECT_EQ(info.bytes, read_sample(dataset, Split::train, 17).size());
  EXPECT_EQ(dataset.info(Split::test, 9).key, "synthetic/test/9");
  std::set<std::string> distinct;
  for (int64_t i = 0; i < 100; ++i) distinct.insert(read_sample(dataset, Split::train, i));
  EXPECT_EQ(distinct.size(), 8u);  // the largest multiple of 4 classes in 10
  for (int64_t i = 0; i < 92; ++i) {
    EXPECT_EQ(read_sample(dataset, Split::train, i), read_sample(dataset, Split::train, i + 8));
  }
  const Pixels pixels = decode(read_sample(dataset, Split::train, 5));
  EXPECT_EQ(pixels.width, 64);
  EXPECT_EQ(pixels.height, 48);
}

TEST_F(SyntheticTest, is_a_function_of_the_seed) {
  const std::string yaml =
      "{type: synthetic, samples: 4, test_samples: 4, classes: 2, image: {width: 32, height: 32}}";
  const std::string first = read_sample(data.build(yaml), Split::train, 3);
  EXPECT_EQ(read_sample(data.build(yaml), Split::train, 3), first);
  EXPECT_NE(read_sample(*data.dataset, Split::test, 3), first);
  EXPECT_NE(read_sample(data.build(yaml, 2), Split::train, 3), first);
}

TEST_F(SyntheticTest, the_pixels_tell_the_class) {
  const Dataset& dataset = data.build(
      "{type: synthetic, samples: 80, test_samples: 40, classes: 10, unique: 80, image: {width: "
      "64, height: 64}}");
  // The nearest mean colour of a class in the training images is right for all test images.
  std::vector<std::array<double, 3>> means(10);
  for (int64_t i = 0; i < 80; ++i) {
    const auto colour = mean_colour(decode(read_sample(dataset, Split::train, i)));
    for (size_t c = 0; c < 3; ++c) means[static_cast<size_t>(i % 10)][c] += colour[c] / 8;
  }
  int64_t right = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const auto colour = mean_colour(decode(read_sample(dataset, Split::test, i)));
    const auto distance = [&](const std::array<double, 3>& mean) {
      return std::hypot(mean[0] - colour[0], mean[1] - colour[1], mean[2] - colour[2]);
    };
    const auto nearest = std::min_element(
        means.begin(), means.end(), [&](auto& a, auto& b) { return distance(a) < distance(b); });
    right += nearest - means.begin() == i % 10;
  }
  EXPECT_EQ(right, 40);
}

TEST(SyntheticImage, encoded_sizes_are_log_normal) {
  SyntheticImageOptions options;
  options.median_bytes = ByteSize{16'000};
  options.sigma = 0.5;
  std::vector<double> logs;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    logs.push_back(std::log(static_cast<double>(synthetic_jpeg(options, 10, 3, seed).size())));
  }
  std::sort(logs.begin(), logs.end());
  EXPECT_NEAR(logs[150], std::log(16'000), 0.12);  // four standard errors of a median
  double mean = 0;
  double square = 0;
  for (const double value : logs) mean += value / 300;
  for (const double value : logs) square += (value - mean) * (value - mean) / 300;
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.09);
}

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST_F(SyntheticTest, planes_show_their_label_in_one_of_them) {
  const Dataset& dataset = data.build(
      "{type: synthetic, samples: 6, classes: 2, unique: 6, planes: {height: 20, width: 30}}");
  for (int64_t i = 0; i < 6; ++i) {
    const std::vector<float> values = floats_of(read_sample(dataset, Split::train, i));
    ASSERT_EQ(values.size(), 3u * 20 * 30);
    for (int64_t plane = 0; plane < 3; ++plane) {
      const auto begin = values.begin() + plane * 600;
      const double mean = std::accumulate(begin, begin + 600, 0.0) / 600;
      EXPECT_NEAR(mean, plane == i % 2 ? 1 : 0.5, 0.06);  // five standard errors of a mean
    }
  }
}

TEST_F(SyntheticTest, a_map_follows_its_planes_and_is_seen_in_them) {
  const Dataset& dataset = data.build(
      "{type: synthetic, samples: 3, classes: 3, unique: 3, planes: {height: 20, width: 30, "
      "target: "
      "true}}");
  const std::vector<float> values = floats_of(read_sample(dataset, Split::train, 1));
  ASSERT_EQ(values.size(), 4u * 600);
  std::array<int64_t, 3> pixels{};
  std::array<double, 3> brightness{};  // of class k in plane k
  for (size_t i = 0; i < 600; ++i) {
    const auto of = static_cast<size_t>(values[1800 + i]);
    ASSERT_LT(of, 3u);
    ++pixels[of];
    brightness[of] += values[of * 600 + i];
  }
  EXPECT_GT(pixels[1], 0);
  EXPECT_EQ(pixels[2], 5 * 7);  // the last rectangle lies on top
  EXPECT_NEAR(brightness[2] / 35, 1, 0.25);
  EXPECT_NE(read_sample(dataset, Split::train, 0), read_sample(dataset, Split::train, 1));
}

TEST(SyntheticImage, wrong_options_are_refused_with_their_place) {
  const auto refused = [](const std::string& yaml) {
    return error_of([&] { TestDataset::parse(yaml); });
  };
  EXPECT_EQ(refused("{type: synthetic, samples: 5, classes: 10}"),
            "test.yaml:1:28: dataset: 'samples' must be at least 'classes'");
  EXPECT_EQ(refused("{type: synthetic, samples: 300, classes: 300, planes: {target: true}}"),
            "test.yaml:1:42: dataset: 'classes' must be at most 256 with planes.target");
  EXPECT_EQ(refused("{type: synthetic, image: {median_bytes: 1KiB}}"),
            "test.yaml:1:41: dataset.image: 'median_bytes' must be between 4KiB and 16MiB");
}

}  // namespace
}  // namespace stoker
