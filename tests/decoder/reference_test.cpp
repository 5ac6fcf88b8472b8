#include <gtest/gtest.h>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "tests/decoder/images.h"
#include "tests/support/temporary_directory.h"

// Our pixels against the two references on all 500 real files that ship: a mean of at most 0.2 gray
// levels over all files, and none far from it.

namespace stoker {
namespace {

constexpr double kMostOff = 0.2;
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
  EXPECT_LE(differences.sum / differences.count, kMostOff);
  EXPECT_LE(differences.worst, kWorstFile);
}

// The pixels of all files, one after another.
Pixels by_pillow(int size, const std::vector<std::string>& files) {
  const TemporaryDirectory directory;
  const std::string out = directory / "pillow.rgb";
  std::string command = std::string("/usr/bin/python3 ") + STOKER_SOURCE_DIR +
                        "/tests/decoder/pillow.py " + std::to_string(size) + " " + out;
  for (const std::string& path : files) command += " " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << "needs Pillow: apt-get install python3-pil";
  return read_file(out);
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
  const Pixels theirs = by_pillow(GetParam(), mini_files());
  const auto ours = decoder("antialias");
  const auto session = ours->open();
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

// What Pillow, and so PyTorch, trains on without a word.
TEST(DamagedReference, tolerated_images_are_pillows) {
  const auto ours = make_decoder(
      "{type: jpeg, scaled_decode: false, resize: antialias, size: 96, tolerance: as_libjpeg}");
  const auto session = ours->open();
  const TemporaryDirectory directory;
  std::vector<std::string> paths;
  Pixels pixels;
  int tolerated = 0;
  for (size_t i = 0; i < 500; i += 20) {
    File file = read_file(mini_files()[i]);
    size_t middle = file.size() / 2;
    while (file[middle - 1] == 0xff) ++middle;                       // no new marker
    if (i % 80 == 0) file.insert(file.end() - 2, {1, 2, 3});         // before the end marker
    if (i % 80 == 20) file.erase(file.end() - 6, file.end() - 2);    // some bits at the end
    if (i % 80 == 40) std::fill_n(&file[middle], 9, uint8_t{0x55});  // in the middle
    // In the header, behind its first segment: Pillow knows a file by its first three bytes.
    const ptrdiff_t second = 4 + (file[4] << 8 | file[5]);
    if (i % 80 == 60) file.insert(file.begin() + second, {7, 7, 7});
    paths.push_back(directory / (std::to_string(i) + ".jpg"));
    directory.write(std::to_string(i) + ".jpg", std::string(file.begin(), file.end()));
    const Pixels sample = decode(*session, *ours, file);
    tolerated += session->tolerated().empty() ? 0 : 1;
    pixels.insert(pixels.end(), sample.begin(), sample.end());
  }
  EXPECT_GE(tolerated, 15);  // wrong bits may mean other pixels and no more
  const Pixels theirs = by_pillow(96, paths);
  ASSERT_EQ(theirs.size(), pixels.size());
  EXPECT_LE(mean_difference(pixels, theirs), kMostOff);
}

}  // namespace
}  // namespace stoker
