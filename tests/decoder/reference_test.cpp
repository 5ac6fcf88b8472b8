#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "tests/decoder/images.h"
#include "tests/support/temporary_directory.h"

// Our pixels against the two references on all 500 real files that ship: a mean of at most 0.2 gray
// levels over all files, and none far from it.

namespace stoker {
namespace {

constexpr double kMean = 0.2;
constexpr double kWorstFile = 0.3;

struct Differences {
  void add(double difference) {
    sum += difference;
    worst = std::max(worst, difference);
    ++count;
  }
  double sum = 0;
  double worst = 0;
  int count = 0;
};

void expect_close(const Differences& differences) {
  EXPECT_EQ(differences.count, 500);
  EXPECT_LE(differences.sum / differences.count, kMean);
  EXPECT_LE(differences.worst, kWorstFile);
}

class Reference : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Decoder> decoder(const std::string& resize) const {
    return make_decoder("{type: turbojpeg, scaled_decode: false, resize: " + resize +
                        ", size: " + std::to_string(GetParam()) + "}");
  }
};

TEST_P(Reference, bilinear_is_opencvs_inter_linear) {
  const auto ours = decoder("bilinear");
  const auto session = ours->open();
  Differences differences;
  for (const std::string& path : mini_files()) {
    cv::Mat image = cv::imread(path, cv::IMREAD_COLOR), theirs;
    cv::resize(image, theirs, {GetParam(), GetParam()}, 0, 0, cv::INTER_LINEAR);
    cv::cvtColor(theirs, theirs, cv::COLOR_BGR2RGB);
    const Pixels pixels = decode(*session, *ours, read_file(path));
    differences.add(mean_difference(pixels.data(), theirs.data, pixels.size()));
  }
  expect_close(differences);
}

TEST_P(Reference, antialias_is_pillows_bilinear) {
  const TemporaryDirectory directory;
  const std::string out = directory / "pillow.rgb";
  std::string command = std::string("/usr/bin/python3 ") + STOKER_SOURCE_DIR +
                        "/tests/decoder/pillow.py " + std::to_string(GetParam()) + " " + out;
  for (const std::string& path : mini_files()) command += " " + path;
  ASSERT_EQ(std::system(command.c_str()), 0) << "needs Pillow: apt-get install python3-pil";

  const auto ours = decoder("antialias");
  const auto session = ours->open();
  const Pixels theirs = read_file(out);
  const size_t bytes = ours->spec().bytes();
  ASSERT_EQ(theirs.size(), 500 * bytes);
  Differences differences;
  size_t at = 0;
  for (const std::string& path : mini_files()) {
    const Pixels pixels = decode(*session, *ours, read_file(path));
    differences.add(mean_difference(pixels.data(), theirs.data() + at, bytes));
    at += bytes;
  }
  expect_close(differences);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Reference, testing::Values(224, 112));

}  // namespace
}  // namespace stoker
