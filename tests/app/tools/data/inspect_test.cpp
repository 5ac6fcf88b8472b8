#include "app/tools/data/inspect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/archives.h"
#include "tests/support/datasets.h"

namespace stoker {
namespace {

TEST(Percentiles, are_sizes_of_files) {
  const Percentiles p = percentiles({30, 10, 20});
  EXPECT_EQ(p.count, 3);
  EXPECT_EQ(p.min, 10u);
  EXPECT_EQ(p.p1, 10u);
  EXPECT_EQ(p.p50, 20u);
  EXPECT_EQ(p.p90, 30u);
  EXPECT_EQ(p.max, 30u);
  EXPECT_EQ(percentiles({}).count, 0);
}

TEST(InspectDataset, tells_what_the_subset_holds) {
  TestDataset data(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const DatasetReport report = inspect_dataset(data.build(
      "{type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 20}}"));
  ASSERT_EQ(report.classes.size(), 10u);
  for (const ClassCount& count : report.classes) {
    EXPECT_EQ(count.train, 30) << count.name;
    EXPECT_EQ(count.test, 20) << count.name;
  }
  uint64_t bytes = 0;
  for (const auto& [path, contents] : mini_files()) bytes += contents.size();
  EXPECT_EQ(report.bytes, bytes);
  EXPECT_EQ(report.encoded_bytes.count, 500);
  EXPECT_EQ(report.width.count, 500);
  EXPECT_GE(report.width.p50, 200u);
  EXPECT_LE(report.height.p50, 300u);
  int64_t kinds = 0;
  for (const auto& [kind, count] : report.kinds) {
    EXPECT_TRUE(kind.starts_with("baseline ")) << kind;
    kinds += count;
  }
  EXPECT_EQ(kinds, 500);
  EXPECT_TRUE(report.unreadable.empty());
  EXPECT_EQ(report.ignored, std::vector<std::string>{"README.md"});
}

TEST(InspectDataset, names_what_cannot_be_read) {
  TestDataset data(make_storage("{type: memory}"));
  const std::string jpeg = mini_files().front().second;
  put(data.tier(), "a/good.jpg", jpeg);
  put(data.tier(), "a/half.jpg", jpeg.substr(0, jpeg.size() / 2));
  put(data.tier(), "a/head.jpg", jpeg.substr(0, 20));
  put(data.tier(), "a/zero.jpg", "");
  put(data.tier(), "b/gone.jpg", jpeg);
  put(data.tier(), "b/large.jpg", std::string(200'000, 'x'));
  put(data.tier(), "b/page.jpg", "<html></html>");
  put(data.tier(), "b/picture.png", "\x89PNG\r\n\x1a\n");
  const Dataset& dataset = data.build("{type: image_folder, storage: data, max_file_bytes: 100k}");
  data.tier().remove("b/gone.jpg");
  const DatasetReport report = inspect_dataset(dataset);
  std::string seen;
  for (const UnreadableSample& sample : report.unreadable) {
    EXPECT_FALSE(sample.message.empty());
    seen += sample.key + "=" + to_string(sample.reason) + " ";
  }
  EXPECT_EQ(seen,
            "a/half.jpg=truncated a/head.jpg=truncated a/zero.jpg=empty b/gone.jpg=missing "
            "b/large.jpg=too_large b/page.jpg=not_an_image ");
  EXPECT_EQ(report.kinds.at("png"), 1);
  EXPECT_EQ(report.width.count, 1);
  const nlohmann::json json = report;
  EXPECT_EQ(json["unreadable"][3],
            (nlohmann::json{{"key", "b/gone.jpg"},
                            {"reason", "missing"},
                            {"message", "read b/gone.jpg: No such file or directory"}}));
  EXPECT_EQ(json["classes"][1], (nlohmann::json{{"name", "b"}, {"train", 4}, {"test", 0}}));
  EXPECT_EQ(json["encoded_bytes"]["count"], 8);
}

TEST(InspectDataset, says_what_a_tolerant_decoder_would_win) {
  TestDataset data(make_storage("{type: memory}"));
  const std::string jpeg = mini_files().front().second;
  put(data.tier(), "a/good.jpg", jpeg);
  put(data.tier(), "a/half.jpg", jpeg.substr(0, jpeg.size() / 2));
  put(data.tier(), "a/head.jpg", jpeg.substr(0, 20));
  put(data.tier(), "a/more.jpg", jpeg.substr(0, 2) + "stray" + jpeg.substr(2));
  put(data.tier(), "a/zero.jpg", "");
  const Dataset& dataset = data.build("{type: image_folder, storage: data}");
  const Node node = parse_yaml("{type: jpeg, tolerance: as_libjpeg}", "test.yaml");
  const auto decoder =
      Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr)).create({});
  const nlohmann::json report = inspect_dataset(dataset, decoder.get());
  EXPECT_EQ(report["decodable_as_libjpeg"], 2);
  std::string seen;
  for (const auto& row : report["unreadable"]) {
    seen += row["key"].get<std::string>() + (row["decodable_as_libjpeg"] ? " yes " : " no ");
  }
  EXPECT_EQ(seen, "a/half.jpg yes a/head.jpg no a/more.jpg yes a/zero.jpg no ");
  EXPECT_FALSE(nlohmann::json(inspect_dataset(dataset)).contains("decodable_as_libjpeg"));
}

TEST(InspectDataset, knows_generated_images) {
  TestDataset data(make_storage("{type: memory}"));
  const DatasetReport report = inspect_dataset(data.build(
      "{type: synthetic, samples: 20, test_samples: 0, image: {width: 64, height: 32}}"));
  EXPECT_EQ(report.kinds, (std::map<std::string, int64_t>{{"baseline YCbCr 4:2:0", 20}}));
  EXPECT_EQ(report.width.p99, 64u);
  EXPECT_EQ(report.pixels.min, 2048u);
}

}  // namespace
}  // namespace stoker
