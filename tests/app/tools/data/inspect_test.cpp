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

std::unique_ptr<Decoder> decoder_of(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr)).create({});
}

// By our decoder, and how many of the samples.
DatasetReport inspected(const Dataset& dataset, Budget samples = {100, true}) {
  const auto decoder = decoder_of("{type: jpeg, size: 32}");
  return inspect_dataset(dataset, {.decoder = *decoder, .samples = samples, .threads = 2});
}

TEST(InspectDataset, tells_what_the_subset_holds) {
  TestDataset data(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const DatasetReport report = inspected(data.build(
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
  EXPECT_EQ(report.looked_at, 500);
}

TEST(InspectDataset, looks_at_a_share_of_all_classes) {
  TestDataset data(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const Dataset& dataset =
      data.build("{type: image_folder, storage: data, split: {train_per_class: 30}}");
  for (const Budget samples : {Budget{10, true}, Budget{50, false}}) {
    const DatasetReport report = inspected(dataset, samples);
    EXPECT_EQ(report.looked_at, 50);
    EXPECT_EQ(report.samples, 500);
    EXPECT_EQ(report.width.count, 50);
    EXPECT_EQ(report.encoded_bytes.count, 500);  // for which nothing is read
    for (const ClassCount& count : report.classes) EXPECT_EQ(count.train, 30);
  }
  EXPECT_EQ(inspected(dataset, {0.01, true}).looked_at, 1);
  EXPECT_EQ(inspected(dataset, {9999, false}).looked_at, 500);
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
  const DatasetReport report = inspected(dataset);
  std::string seen;
  for (const UnreadableSample& sample : report.unreadable) {
    EXPECT_FALSE(sample.message.empty());
    seen += sample.key + "=" + to_string(sample.reason) + " ";
  }
  EXPECT_EQ(seen,
            "a/half.jpg=truncated a/head.jpg=truncated a/zero.jpg=empty b/gone.jpg=missing "
            "b/large.jpg=too_large b/page.jpg=not_an_image b/picture.png=unsupported ");
  EXPECT_EQ(report.kinds.size(), 1u);
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
  const auto strict = decoder_of("{type: jpeg}");
  const auto tolerant = decoder_of("{type: jpeg, tolerance: as_libjpeg}");
  const nlohmann::json report =
      inspect_dataset(dataset, {.decoder = *strict, .tolerant = tolerant.get()});
  EXPECT_EQ(report["decodable_as_libjpeg"], 2);
  std::string seen;
  for (const auto& row : report["unreadable"]) {
    seen += row["key"].get<std::string>() + (row["decodable_as_libjpeg"] ? " yes " : " no ");
  }
  EXPECT_EQ(seen, "a/half.jpg yes a/head.jpg no a/more.jpg yes a/zero.jpg no ");
  EXPECT_FALSE(nlohmann::json(inspected(dataset)).contains("decodable_as_libjpeg"));
  // By the tolerant one itself, they are samples.
  const DatasetReport borne = inspect_dataset(dataset, {.decoder = *tolerant});
  EXPECT_EQ(borne.tolerated.size(), 2u);
  EXPECT_EQ(borne.unreadable.size(), 2u);
}

// Bits that flipped inside the compressed data.
TEST(InspectDataset, finds_what_only_decoding_finds) {
  TestDataset data(make_storage("{type: memory}"));
  const std::string jpeg = mini_files().front().second;
  put(data.tier(), "a/good.jpg", jpeg);
  std::string rotten = jpeg;
  for (size_t at = jpeg.size() / 2; at < jpeg.size() / 2 + 60; at += 5) rotten[at] ^= 0x55;
  put(data.tier(), "a/rotten.jpg", rotten);
  const DatasetReport report = inspected(data.build("{type: image_folder, storage: data}"));
  ASSERT_EQ(report.unreadable.size(), 1u);
  EXPECT_EQ(report.unreadable[0].key, "a/rotten.jpg");
  EXPECT_EQ(report.unreadable[0].reason, BadReason::corrupt);
}

TEST(InspectDataset, counts_what_is_no_image_file_as_what_it_is) {
  TestDataset data(make_storage("{type: memory}"));
  put(data.tier(), "a/1.jpg", std::string(4 * 4 * 3, '\xff'));
  put(data.tier(), "a/2.jpg", std::string(4 * 4 * 3, 'x'));
  put(data.tier(), "b/3.jpg", std::string(4 * 4 * 3 - 1, 'x'));
  const Dataset& dataset = data.build("{type: image_folder, storage: data}");
  const auto raw = decoder_of("{type: raw, height: 4, width: 4, size: 4}");
  const DatasetReport pixels =
      inspect_dataset(dataset, {.decoder = *raw, .info = {.stored = "pixels"}});
  EXPECT_EQ(pixels.kinds, (std::map<std::string, int64_t>{{"pixels", 2}}));
  EXPECT_EQ(pixels.unreadable.size(), 1u);
  const auto bytes = decoder_of("{type: bytes, size: 4}");
  const DatasetReport any = inspect_dataset(dataset, {.decoder = *bytes});
  EXPECT_EQ(any.kinds, (std::map<std::string, int64_t>{{"text", 2}, {"unknown", 1}}));
  EXPECT_TRUE(any.unreadable.empty());
}

// A data set with labels that are those of no class.
class OddLabels final : public Dataset {
 public:
  OddLabels() : Dataset({ErrorPolicy::skip, {100, true}}) {}
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t size(Split split) const override { return split == Split::train ? 4 : 0; }
  SampleInfo info(Split, int64_t index) const override {
    constexpr int64_t kLabels[] = {0, -1, 7, INT64_MAX};
    return {std::to_string(index), kLabels[index], 10};
  }
  EncodedSample read(Split split, int64_t index, Buffer&) const override {
    if (info(split, index).label != 0) throw BadSample(BadReason::unsupported, "no label");
    return {{jpeg_.data(), jpeg_.size()}, 0};
  }

 private:
  const std::vector<std::string> classes_{"one"};
  const std::string text_ = mini_files().front().second;
  const std::vector<uint8_t> jpeg_{text_.begin(), text_.end()};
};

TEST(InspectDataset, labels_of_no_class_are_counted_apart) {
  const DatasetReport report = inspected(OddLabels());
  EXPECT_EQ(report.classes.at(0).train, 1);
  EXPECT_EQ(report.without_label, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(report.unreadable.size(), 3u);
  EXPECT_EQ(nlohmann::json(report)["without_label"].size(), 3u);
}

TEST(InspectDataset, knows_generated_images) {
  TestDataset data(make_storage("{type: memory}"));
  const DatasetReport report = inspected(data.build(
      "{type: synthetic, samples: 20, test_samples: 0, image: {width: 64, height: 32}}"));
  EXPECT_EQ(report.kinds, (std::map<std::string, int64_t>{{"baseline YCbCr 4:2:0", 20}}));
  EXPECT_EQ(report.width.p99, 64u);
  EXPECT_EQ(report.pixels.min, 2048u);
}

}  // namespace
}  // namespace stoker
