#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "io/core/error.h"
#include "io/dataset/shards/shard_index.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

std::string tar(const ArchiveFiles& files, int format = ARCHIVE_FORMAT_TAR_USTAR) {
  return make_archive(files, format, false);
}

// A tier in memory with these objects.
struct Shards : TestDataset {
  explicit Shards(const ArchiveFiles& objects) : TestDataset(make_storage("{type: memory}")) {
    for (const auto& [key, contents] : objects) put(tier(), key, contents);
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: tar_shards, storage: data" + more + "}");
  }
  std::string refused(const std::string& more = "") {
    return error_of([&] { build(more); });
  }
  std::string bad(int64_t index) { return why_bad(*dataset, index); }
};

const std::string kLarge(5'000'000, 'x');

TEST(TarShards, samples_are_neighbours_of_one_name_in_the_order_of_the_shards) {
  Shards shards({{"train-1.tar", tar({{"c/3.jpg", "three"}, {"c/3.cls", "2\n"}})},
                 {"train-0.tar", tar({{"a/1.v2.cls", "0"},
                                      {"a/1.jpg", kLarge},
                                      {"a/1.json", "{}"},
                                      {"a/1.cls", "0"},
                                      {"b/2.cls", "1"},
                                      {"b/2.PNG", "two"}})},
                 {"test-0.tar", tar({{"c/4.cls", "2"}, {"c/4.webp", "four"}})},
                 {"classes.txt", "cat\r\ndog\nowl\n"},
                 {"train-0.txt", "no shard"}});
  const Dataset& data = shards.build();
  EXPECT_EQ(data.classes(), (Strings{"cat", "dog", "owl"}));
  EXPECT_EQ(keys(data, Split::train), (Strings{"a/1", "b/2", "c/3"}));
  EXPECT_EQ(keys(data, Split::test), Strings{"c/4"});
  EXPECT_EQ(read_sample(data, Split::train, 0), kLarge);
  EXPECT_EQ(read_sample(data, Split::train, 1), "two");
  EXPECT_EQ(read_sample(data, Split::train, 2), "three");
  EXPECT_EQ(read_sample(data, Split::test, 0), "four");
  const SampleInfo last = data.info(Split::train, 2);
  EXPECT_EQ(last.label, 2);
  EXPECT_EQ(last.bytes, 5u);
  EXPECT_EQ(last.file, 1);
  EXPECT_EQ(last.object, "train-1.tar");
  EXPECT_EQ(objects_of(data, Split::train), (Strings{"train-0.tar", "train-1.tar"}));
  EXPECT_EQ(objects_of(data, Split::train, std::vector<int64_t>{2}), Strings{"train-1.tar"});
  EXPECT_TRUE(shards.remarks.empty());
}

TEST(TarShards, shards_of_one_pattern_may_be_split_in_an_order_that_is_drawn_once) {
  ArchiveFiles objects;
  for (char name = 'a'; name < 'a' + 20; ++name) {
    objects.emplace_back(std::string("train-") + name,
                         tar({{std::string("c/") + name + ".jpg", "x"}}));
  }
  Shards shards(objects);
  const std::string pattern = ", train: 'train-*'";
  const Strings all = keys(shards.build(pattern), Split::train);
  const Dataset& data = shards.build(pattern + ", split: {train: 0.8, test: 0.1}");
  const Strings train = keys(data, Split::train), test = keys(data, Split::test);
  EXPECT_EQ(train.size(), 16u);
  EXPECT_EQ(test.size(), 2u);
  EXPECT_FALSE(std::ranges::is_sorted(train));
  std::set<std::string> once(train.begin(), train.end());
  once.insert(test.begin(), test.end());
  EXPECT_EQ(once.size(), 18u);
  EXPECT_TRUE(std::ranges::includes(all, once));
  // The same whatever the run's seed, another one by a seed of its own.
  EXPECT_EQ(keys(static_cast<TestDataset&>(shards).build(
                     "{type: tar_shards, storage: data" + pattern + ", split: {}}", 7),
                 Split::train),
            train);
  EXPECT_NE(keys(shards.build(pattern + ", split: {seed: 1}"), Split::train), train);
  EXPECT_EQ(shards.refused(pattern + ", split: {train: 0.8, test: 0.3}"),
            "test.yaml:1:60: dataset: 'split' must train on some shards, and not on those that "
            "test");
}

TEST(TarShards, long_names_of_every_kind_of_tar_are_read) {
  const std::string folder(150, 'f'), name(120, 'n');
  for (const int format : {ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED}) {
    Shards shards({{"train.tar", tar({{folder + "/" + name + ".jpg", "image"}}, format)}});
    const Dataset& data = shards.build();
    EXPECT_EQ(data.classes(), Strings{folder});
    EXPECT_EQ(keys(data, Split::train), Strings{folder + "/" + name});
    EXPECT_EQ(read_sample(data, Split::train, 0), "image");
  }
}

TEST(TarShards, without_labels_the_first_folder_is_the_class) {
  Shards shards({{"train.tar", tar({{"owl/1.jpg", "1"}, {"cat/x/2.jpg", "2"}})}});
  const Dataset& data = shards.build();
  EXPECT_EQ(data.classes(), (Strings{"cat", "owl"}));
  EXPECT_EQ(data.info(Split::train, 0).label, 1);
  put(shards.tier(), "classes.txt", "owl\nbat\ncat");
  EXPECT_EQ(shards.build().info(Split::train, 1).label, 2);
}

TEST(TarShards, without_names_classes_have_their_numbers) {
  Shards shards({{"train.tar", tar({{"1.jpg", "1"}, {"1.cls", "3"}})}});
  EXPECT_EQ(shards.build().classes(), (Strings{"0", "1", "2", "3"}));
}

TEST(TarShards, what_is_no_part_of_a_sample_is_passed_over) {
  Shards shards({{"train.tar", tar({{"a/", ""},
                                    {"a/README", "text"},
                                    {"a/.hidden.jpg", "x"},
                                    {"a/__meta__.jpg", "x"},
                                    {"a/1.json", "{}"},
                                    {"a/2.jpg", "two"}})}});
  EXPECT_EQ(keys(shards.build(), Split::train), Strings{"a/2"});
  EXPECT_EQ(shards.remarks, Strings{"dataset: passed over 3 that are no part of a sample: "
                                    "'train.tar: a/README', 'train.tar: a/.hidden.jpg' and "
                                    "'train.tar: a/1.json'"});
}

TEST(TarShards, a_sample_that_can_not_be_used_is_a_bad_one) {
  Shards shards({{"train.tar", tar({{"a/1.jpg", "1"},
                                    {"a/1.cls", "zero"},
                                    {"a/2.jpg", "2"},
                                    {"a/2.png", "2"},
                                    {"a/3.jpg", "3"},
                                    {"a/3.JPG", "3"},
                                    {"a/4.jpg", "4"},
                                    {"a/4.cls", "7"},
                                    {"5.jpg", "5"},
                                    {"a/6.jpg", "123456"},
                                    {"b/7.jpg", "7"}})},
                 {"classes.txt", "a\nb\n"}});
  shards.build(", max_sample_bytes: 5");
  EXPECT_EQ(shards.bad(0), "unsupported: member .cls is no number of a class, but 'zero'");
  EXPECT_EQ(shards.bad(1), "unsupported: it has two images: choose by dataset.images");
  EXPECT_EQ(shards.bad(2), "unsupported: two of its members end alike");
  EXPECT_EQ(shards.bad(3), "corrupt: its label is 7, but the data set has 2 classes");
  EXPECT_EQ(shards.bad(4),
            "unsupported: it has no label: no member ends in .cls, and its name has no folder: set "
            "dataset.label");
  EXPECT_EQ(shards.bad(5), "too_large: it has 6 bytes, above 5 (dataset.max_sample_bytes)");
}

TEST(TarShards, a_shard_that_is_cut_short_keeps_the_samples_before_the_cut) {
  const std::string whole = tar({{"a/1.jpg", "one"}, {"a/2.jpg", kLarge}});
  Shards shards({{"train.tar", whole.substr(0, 4'000'000)}});
  shards.build();
  EXPECT_EQ(read_sample(*shards.dataset, Split::train, 0), "one");
  EXPECT_EQ(shards.bad(1), "truncated: its shard ends in the middle of it");
}

TEST(TarShards, a_shard_that_is_cut_in_a_header_has_a_bad_sample_there) {
  const std::string whole = tar({{"a/1.jpg", "one"}, {"a/2.jpg", "two"}});
  Shards shards({{"train.tar", whole.substr(0, 1300)}});
  EXPECT_EQ(keys(shards.build(), Split::train), (Strings{"a/1", "train.tar"}));
  EXPECT_EQ(shards.bad(1), "truncated: its shard ends here, too early");
  EXPECT_EQ(shards.dataset->classes(), Strings{"a"});  // it is of none
}

TEST(TarShards, what_is_no_tar_is_refused) {
  const std::string hint = "): repair it, unpack it, or take it out of the pattern";
  for (const std::string& bytes : {std::string(2000, 'x'), make_tar_gz({{"a/1.jpg", "one"}})}) {
    const std::string message = Shards({{"train.tar", bytes}}).refused();
    EXPECT_TRUE(
        message.starts_with("dataset: shard train.tar is no tar file, or a damaged or "
                            "compressed one ("))
        << message;
    EXPECT_TRUE(message.ends_with(hint)) << message;
  }
}

TEST(TarShards, a_shard_without_samples_is_refused) {
  EXPECT_EQ(Shards({{"train.tar", tar({{"a/", ""}})}}).refused(),
            "dataset: there are no samples in 'train*.tar' in tier 'data': set dataset.train to a "
            "pattern of shards that have samples");
}

TEST(TarShards, a_shard_without_samples_among_others_is_told) {
  Shards shards({{"train-0.tar", tar({{"a/1.jpg", "1"}, {"b/2.jpg", "2"}})},
                 {"train-1.tar", tar({{"a/1.txt", "1"}})},
                 {"train-2.tar", tar({})}});
  EXPECT_EQ(shards.build().size(Split::train), 2);
  EXPECT_EQ(shards.remarks, Strings{"dataset: passed over 3 that are no part of a sample: "
                                    "'train-1.tar: a/1.txt', 'train-1.tar: it has no samples' and "
                                    "'train-2.tar: it has no samples'"});
}

TEST(TarShards, the_first_number_of_a_class_is_an_option) {
  Shards shards(
      {{"train.tar", tar({{"1.jpg", "x"}, {"1.cls", "1"}, {"2.jpg", "x"}, {"2.cls", "2"}})}});
  EXPECT_EQ(shards.build().classes(), (Strings{"0", "1", "2"}));
  EXPECT_EQ(shards.remarks, Strings{"dataset: 1 of 3 classes has no training sample: '0': labels "
                                    "begin at 1: set dataset.label_offset=1"});
  EXPECT_EQ(shards.build(", label_offset: 1").classes(), (Strings{"1", "2"}));
  EXPECT_EQ(shards.dataset->info(Split::train, 1).label, 1);
  EXPECT_TRUE(shards.remarks.empty());
  shards.build(", label_offset: 2");
  EXPECT_EQ(shards.bad(0),
            "corrupt: its label is 1, and that of the first class 2 (dataset.label_offset)");
  EXPECT_EQ(shards.dataset->info(Split::train, 0).label, -1);
  put(shards.tier(), "classes.txt", "cat\ndog\n\n");
  EXPECT_EQ(shards.refused(),
            "dataset: labels run from 1 to 2, and 2 classes are named: set dataset.label_offset=1");
}

TEST(TarShards, a_split_of_which_no_sample_can_be_used_is_refused) {
  const ArchiveFiles good{{"a/1.jpg", "1"}, {"b/2.jpg", "22"}};
  EXPECT_EQ(Shards({{"train.tar", tar(good)}}).refused(", max_sample_bytes: 0"),
            "dataset: none of the 2 samples in 'train*.tar' can be used: a/1: too_large: it has 1 "
            "bytes, above 0 (dataset.max_sample_bytes)");
  EXPECT_EQ(Shards({{"train.tar", tar(good)},
                    {"test.tar", tar({{"owl/1.jpg", "x"}})},
                    {"classes.txt", "a\nb\n"}})
                .refused(),
            "dataset: none of the 1 samples in 'test*.tar' can be used: owl/1: corrupt: its class "
            "'owl' is none of the 2 that are known");
}

TEST(TarShards, the_index_is_kept_and_made_anew_where_it_does_not_fit) {
  Shards shards({{"train.tar", tar({{"a/1.jpg", "one"}})}});
  shards.build();
  const std::string index = get(shards.tier(), "train.tar.index.json");
  // It is believed: who changes a shard without changing its size removes the index.
  put(shards.tier(), "train.tar.index.json",
      shard_index_json({{{"a/9", {}, true, 512, 2}}}, 2048, "x"));
  EXPECT_EQ(keys(shards.build(), Split::train), Strings{"a/1"});
  EXPECT_EQ(get(shards.tier(), "train.tar.index.json"), index);
  put(shards.tier(), "train.tar", tar({{"b/2.jpg", kLarge}}));
  EXPECT_EQ(keys(shards.build(), Split::train), Strings{"b/2"});
  put(shards.tier(), "train.tar.index.json", "damaged");
  EXPECT_EQ(keys(shards.build(), Split::train), Strings{"b/2"});
  EXPECT_NE(shards.refused(", images: [png]"), "");  // other options, another index
}

TEST(TarShards, the_index_keeps_what_each_label_is) {
  const std::string index = shard_index_json(
      {{{"a/1", 7, false, 512, 2}, {"b/2", {}, true, 1536, 2}, {"c/3", {}, false, 2560, 2}}}, 4096,
      "x");
  const ShardContents read =
      parse_shard_index({reinterpret_cast<const uint8_t*>(index.data()), index.size()}, 4096, "x");
  ASSERT_EQ(read.samples.size(), 3u);
  EXPECT_EQ(read.samples[0].label, 7);
  EXPECT_FALSE(read.samples[0].named);
  EXPECT_EQ(read.samples[1].label, std::nullopt);
  EXPECT_TRUE(read.samples[1].named);
  EXPECT_EQ(read.samples[2].label, std::nullopt);
  EXPECT_FALSE(read.samples[2].named);
}

}  // namespace
}  // namespace stoker
