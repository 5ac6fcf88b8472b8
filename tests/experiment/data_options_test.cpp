#include "io/experiment/data_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/experiment/experiment_data.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

const std::string kQuickStart = STOKER_SOURCE_DIR "/configs/quickstart.yaml";
const std::string kImages = "storage.data.root=" STOKER_SOURCE_DIR "/datasets/caltech101-mini";

TEST(DataOptions, the_data_half_of_an_experiment_is_read_and_opened_by_itself) {
  const DataOptions options =
      read_data_options(kQuickStart, {kImages, "loader.batch_size=4", "loader.digest=true"});
  ExperimentData data(options, {});
  const auto loader = data.make_loader({});
  loader->start(0, 0);
  const std::optional<Batch> batch = loader->next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->size, 4);
  EXPECT_FALSE(batch->digests.empty());
}

TEST(DataOptions, a_decoder_that_can_not_take_the_samples_is_refused_before_any_is_read) {
  const auto refused = [](const std::string& decoder) {
    const DataOptions options = read_data_options(
        kQuickStart, {"dataset={type: synthetic, planes: {channels: 3, height: 8, width: 4}}",
                      "decoder={type: " + decoder + "}"});
    ExperimentData data(options, {});
    EXPECT_EQ(data.dataset().arrays().size(), 1u);  // who only reads needs no decoder
    return error_of([&] { data.decoder(); });
  };
  const std::string sample = "dataset: a sample of synthetic is 3 x 8 x 4 float32, and decoder ";
  EXPECT_EQ(refused("raw, height: 8, width: 4"),
            sample +
                "raw takes 8 x 4 x 3 uint8: write them anew as whole levels from 0 to 255 "
                "(uint8)");
  EXPECT_EQ(refused("turbojpeg"),
            sample + "turbojpeg decodes files: set decoder.type=planes, which takes float32");
}

TEST(DataOptions, sections_of_the_other_half_are_skipped_and_unknown_ones_are_errors) {
  EXPECT_EQ(read_data_options(kQuickStart, {"model.type=nobody_looks_at_it"}).run.name,
            "quickstart");
  EXPECT_EQ(error_of([] { read_data_options(kQuickStart, {"lodaer.workers=2"}); }),
            "override 'lodaer.workers=2': unknown key 'lodaer' (did you mean 'loader'?)");
  EXPECT_THAT(error_of([] { read_data_options(kQuickStart, {"nosuch.key=1"}); }),
              ::testing::StartsWith("override 'nosuch.key=1': unknown key 'nosuch' (known: "));
}

TEST(DataOptions, a_tree_that_is_there_already_is_read_as_its_file_is) {
  Node tree = load_yaml(kQuickStart);
  apply_override(tree, "loader.batch_size=4");
  EXPECT_EQ(read_data_tree(tree).loader.dump().find("batch_size")->scalar, "4");
  tree.entries.push_back({"matrix", {}, Node::map()});
  EXPECT_THAT(error_of([&] { read_data_tree(tree); }),
              ::testing::HasSubstr("unknown key 'matrix'"));
}

TEST(DataOptions, what_one_section_says_of_another_holds_here_as_well) {
  EXPECT_THAT(error_of([] { read_data_options(kQuickStart, {"loader.type=device_resident"}); }),
              ::testing::HasSubstr("must not augment where loader.type is device_resident"));
}

TEST(DataOptions, a_loader_that_works_for_a_device_needs_one) {
  const DataOptions options =
      read_data_options(kQuickStart, {kImages, "loader.type=device_prefetched"});
  ExperimentData data(options, {});
  EXPECT_THAT(error_of([&] { data.make_loader({}); }),
              ::testing::HasSubstr("set loader.type to prefetched"));
}

}  // namespace
}  // namespace stoker
