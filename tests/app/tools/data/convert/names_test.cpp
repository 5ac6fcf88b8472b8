#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/formats/writers/image_files.h"
#include "tests/app/tools/data/convert/conversions.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

std::string extension(const std::string& bytes, const std::string& key = "a/1") {
  return image_extension({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, key);
}

// Samples with these files, written in a format and read again.
struct Files {
  explicit Files(const std::map<std::string, std::string>& files)
      : source(make_storage("{type: memory}")), target(make_storage("{type: memory}")) {
    for (const auto& [key, bytes] : files) put(source.tier(), key, bytes);
    source.build("{type: image_folder, storage: data}");
  }
  const Dataset& through(const std::string& format) {
    const ConvertResult result =
        convert_dataset(*source.dataset, *test_decoder("{type: turbojpeg, size: 32}"),
                        {target.tiers, "data"}, conversion(format, 1000));
    target.dataset = parse_component<Dataset>(result.dataset).create({target.tiers, 1, {}});
    return *target.dataset;
  }
  TestDataset source, target;
};

TEST(ConvertedNames, an_extension_follows_the_bytes) {
  EXPECT_EQ(extension("\xff\xd8\xff\xe0 jpeg", "a/1.png"), "jpg");
  EXPECT_EQ(extension("\x89PNG\r\n\x1a\n"), "png");
  EXPECT_EQ(extension("RIFF1234WEBPVP8 "), "webp");
  EXPECT_EQ(extension("BM123"), "bmp");
  EXPECT_EQ(extension("no image", "a/1.PNG"), "png");
  EXPECT_EQ(extension("", "a/1.txt"), "jpg");
  EXPECT_EQ(without_image_extension("a/1.b.JPEG"), "a/1.b");
  EXPECT_EQ(without_image_extension("a.jpg/1"), "a.jpg/1");
}

TEST(ConvertedNames, a_path_is_one_that_every_file_system_takes) {
  EXPECT_EQ(plain_path("/a//./b/../.c"), "a/b/_./_c");
  EXPECT_EQ(plain_path("a\n/\x01"), "a_/_");
  EXPECT_EQ(plain_path(""), "_");
  EXPECT_EQ(plain_path("\\xff\\x41"),
            "\\xff"
            "A");
  EXPECT_EQ(image_file_name("data/owl/x/1.jpg", "owl"), "owl/x/1");
  EXPECT_EQ(image_file_name("1.jpg", "owl"), "owl/1");
  EXPECT_EQ(image_file_name("owl", "owl"), "owl/owl");
}

TEST(ConvertedNames, a_dot_in_a_name_does_not_end_the_key_of_a_tar_sample) {
  Files files({{"a.b/1.x.jpg", "1"}, {"a.b/1.y.jpg", "2"}, {"a.b/__3__.png", "3"}});
  const Dataset& data = files.through("tar_shards");
  EXPECT_EQ(keys(data, Split::train), (Strings{"a.b/1_x", "a.b/1_y", "a.b/__3_-"}));
  EXPECT_EQ(data.classes(), Strings{"a.b"});
  EXPECT_EQ(read_sample(data, Split::train, 1), "2");
}

TEST(ConvertedNames, two_samples_of_one_name_are_refused) {
  Files files({{"a/1.x.jpg", "1"}, {"a/1_x.jpg", "2"}, {"a/2.jpg", "3"}});
  EXPECT_EQ(error_of([&] { files.through("tar_shards"); }),
            "dataset convert: samples a/1.x.jpg and a/1_x.jpg would both be 'a/1_x' in this "
            "format: rename one of them");
  EXPECT_EQ(listing(files.target.tier()), "");
  EXPECT_EQ(keys(files.through("image_folder"), Split::train),
            (Strings{"train/a/1.x.jpg", "train/a/1_x.jpg", "train/a/2.jpg"}));
}

TEST(ConvertedNames, names_that_are_no_ascii_and_no_text_are_kept) {
  const std::string bytes = to_text("\xff\xfe"), folder = "caf\u00e9";
  Files files({{folder + "/\u732b.jpg", "1"}, {folder + "/" + bytes + ".jpg", "2"}});
  const Strings expected = {folder + "/" + bytes, folder + "/\u732b"};
  EXPECT_EQ(keys(files.through("tar_shards"), Split::train), expected);
  EXPECT_EQ(read_sample(*files.target.dataset, Split::train, 1), "1");
}

TEST(ConvertedNames, long_names_and_contents_of_no_image_are_kept) {
  const std::string name(180, 'n');
  Files files({{"a/" + name + "/" + name + ".jpg", ""}, {"a/b.jpg", std::string(70'000, 'x')}});
  const Dataset& data = files.through("tar_shards");
  EXPECT_EQ(read_sample(data, Split::train, 0).size(), 70'000u);
  EXPECT_EQ(data.info(Split::train, 1).key, "a/" + name + "/" + name);
  EXPECT_EQ(read_sample(data, Split::train, 1), "");
}

TEST(ConvertedNames, classes_that_folders_can_not_number_are_refused) {
  const std::vector<std::string> classes{"owl", "cat"}, folders{"a/b"};
  const auto create = [](const std::vector<std::string>& names) {
    return default_component<ShardFormatWriter>("image_folder").create({names});
  };
  EXPECT_THAT(error_of([&] { create(classes); }),
              testing::HasSubstr("class 1 is 'cat', which does not come behind the class before"));
  EXPECT_THAT(error_of([&] { create(folders); }),
              testing::HasSubstr("class 0 is 'a/b', which can't be the name of a folder"));
}

}  // namespace
}  // namespace stoker
