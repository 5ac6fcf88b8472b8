#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/dataset/shards/shard_writer.h"
#include "tests/dataset/formats/tfrecord/records.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

// A tier in memory with these objects.
struct Records : TestDataset {
  explicit Records(const ArchiveFiles& objects) : TestDataset(make_storage("{type: memory}")) {
    for (const auto& [key, contents] : objects) put(tier(), key, contents);
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: tfrecord, storage: data" + more + "}");
  }
  std::string refused(const std::string& more = "") {
    return error_of([&] { build(more); });
  }
  std::string bad(int64_t index) { return why_bad(*dataset, index); }
};

// An Example's record of these entries and an image.
std::string with_image(const std::string& entries) {
  return record(example(entries + feature("image/encoded", bytes_list({"image"}))));
}

const std::string kImage(5'000'000, 'x');

TEST(TFRecord, samples_are_records_in_the_order_of_the_shards) {
  Records records({{"train-1.tfrecord", labelled("three", 2)},
                   {"train-0.tfrecord", labelled("one", 1) + labelled(kImage, 0)},
                   {"test.tfrecord-00000-of-00001", labelled("four", 1)}});
  const Dataset& data = records.build();
  EXPECT_EQ(data.classes(), (Strings{"0", "1", "2"}));
  EXPECT_EQ(keys(data, Split::train),
            (Strings{"train-0.tfrecord/0", "train-0.tfrecord/1", "train-1.tfrecord/0"}));
  EXPECT_EQ(read_sample(data, Split::train, 0), "one");
  EXPECT_EQ(read_sample(data, Split::train, 1), kImage);
  EXPECT_EQ(read_sample(data, Split::train, 2), "three");
  EXPECT_EQ(read_sample(data, Split::test, 0), "four");
  EXPECT_EQ(data.info(Split::train, 0).label, 1);
  EXPECT_EQ(data.info(Split::train, 2).file, 1);
  EXPECT_TRUE(records.remarks.empty());
  EXPECT_EQ(keys(records.build(), Split::train).size(), 3u);  // by the indices that were kept
}

TEST(TFRecord, image_net_as_tensorflow_packs_it_is_reached_by_a_pattern) {
  const auto one = [](int64_t label, const std::string& text, const std::string& name) {
    return with_image(feature("image/class/label", int64_list({label})) +
                      feature("image/class/text", bytes_list({text})) +
                      feature("image/filename", bytes_list({name})));
  };
  Records records({{"train-00000-of-00128", one(2, "goldfish", "n01443537_7.JPEG")},
                   {"train-00001-of-00128", one(1, "tench", "n01440764_9.JPEG")}});
  const Dataset& data = records.build(", train: 'train-{00000..00001}-of-00128', label_offset: 1");
  EXPECT_EQ(data.classes(), (Strings{"1", "2"}));
  EXPECT_EQ(data.info(Split::train, 0).label, 1);
  EXPECT_EQ(keys(data, Split::train),
            (Strings{"goldfish/n01443537_7.JPEG", "tench/n01440764_9.JPEG"}));
  records.build(", train: 'train-*-of-*', label_offset: 2");
  EXPECT_EQ(records.bad(1),
            "corrupt: its label is 1, and that of the first class 2 (dataset.label_offset)");
}

TEST(TFRecord, without_labels_the_name_or_the_folder_is_the_class) {
  const auto text = [](const std::string& name) {
    return feature("image/class/text", bytes_list({name}));
  };
  const auto file = [](const std::string& name) {
    return feature("image/filename", bytes_list({name}));
  };
  const std::string shard =
      with_image(text("owl") + file("1.jpg")) + with_image(text("owl") + file("owl/2.jpg")) +
      with_image(file("cat/3.jpg")) + with_image(text("bat")) + with_image(text("bat/cat")) +
      with_image(file("6.jpg")) + with_image(file("/7.jpg")) +
      with_image(text("cat") + feature("image/class/label", int64_list({})));
  Records records({{"train.tfrecord", shard}});
  const Dataset& data = records.build();
  EXPECT_EQ(data.classes(), (Strings{"bat", "cat", "owl"}));
  EXPECT_EQ(
      keys(data, Split::train),
      (Strings{"owl/1.jpg", "owl/2.jpg", "cat/3.jpg", "bat/train.tfrecord/3", "train.tfrecord/4",
               "train.tfrecord/5", "train.tfrecord/6", "cat/train.tfrecord/7"}));
  EXPECT_EQ(data.info(Split::train, 1).label, 2);
  EXPECT_EQ(data.info(Split::train, 7).label, 1);
  EXPECT_EQ(records.bad(4), "unsupported: its class 'bat/cat' has a '/'");
  EXPECT_EQ(records.bad(5),
            "unsupported: it has no label: no feature 'image/class/label', 'image/class/text', or "
            "'image/filename' with a folder; there is 'image/filename': set dataset.label or "
            "dataset.text");
  EXPECT_EQ(records.bad(5), records.bad(6));
}

TEST(TFRecord, features_have_the_names_that_options_say) {
  Records records({{"train.tfrecord", record(example(feature("jpg", bytes_list({"one"})) +
                                                     feature("y", int64_list({1}))))}});
  EXPECT_EQ(records.refused(),
            "dataset: there are no samples in 'train*.tfrecord*' in tier 'data': record 0 of "
            "train.tfrecord has no feature 'image/encoded'; there are 'jpg' and 'y': set "
            "dataset.image, and dataset.label if that has another name, too");
  EXPECT_EQ(records.refused(", image: jpg"),
            "dataset: none of the 1 samples in 'train*.tfrecord*' can be used: train.tfrecord/0: "
            "unsupported: it has no label: no feature 'image/class/label', 'image/class/text', or "
            "'image/filename' with a folder; there is 'y': set dataset.label or dataset.text");
  const Dataset& data = records.build(", image: jpg, label: y");  // other options, another index
  EXPECT_EQ(read_sample(data, Split::train, 0), "one");
  EXPECT_EQ(data.info(Split::train, 0).label, 1);
  EXPECT_EQ(records.refused(", image: ''"),
            "test.yaml:1:40: dataset: 'image' must be the name of a feature");
}

TEST(TFRecord, a_sample_that_can_not_be_used_is_a_bad_one) {
  const auto labels = [](const std::string& value) {
    return with_image(feature("image/class/label", value));
  };
  const std::string shard =
      labels(bytes_list({"1"})) + labels(int64_list({1, 2})) + labels(int64_list({-1})) +
      record(example(feature("image/encoded", int64_list({1})))) +
      record(example(feature("image/encoded", bytes_list({"1", "2"})))) + record("\x0a\x09x") +
      labels(int64_list({0})) + labels(int64_list({9})) + labelled("i", 0);
  Records records({{"train.tfrecord", shard}, {"classes.txt", "owl\n"}});
  const Dataset& data = records.build(", max_sample_bytes: 61");
  EXPECT_EQ(records.bad(0),
            "unsupported: its feature 'image/class/label' is a string, and has to be a whole "
            "number: set dataset.label='' and dataset.text=image/class/label if it names the "
            "class");
  EXPECT_EQ(records.bad(1),
            "unsupported: its feature 'image/class/label' is 2 numbers, and has to be one whole "
            "number (dataset.label)");
  EXPECT_EQ(records.bad(2),
            "corrupt: its label is -1, and that of the first class 0 (dataset.label_offset)");
  EXPECT_EQ(records.bad(3),
            "unsupported: its feature 'image/encoded' is 1 number, and has to be one string of "
            "bytes (dataset.image)");
  EXPECT_EQ(records.bad(4),
            "unsupported: its feature 'image/encoded' is 2 strings, and has to be one string of "
            "bytes (dataset.image)");
  EXPECT_EQ(records.bad(5), "corrupt: it is no protocol buffer: it ends too early");
  EXPECT_EQ(records.bad(7), "corrupt: its label is 9, but the data set has 1 class");
  EXPECT_EQ(records.bad(8), "");
  EXPECT_EQ(data.info(Split::train, 0).label, -1);
  EXPECT_EQ(data.info(Split::train, 7).label, -1);
  EXPECT_EQ(data.info(Split::train, 6).bytes, 62u);
  EXPECT_EQ(records.bad(6), "too_large: it has 62 bytes, above 61 (dataset.max_sample_bytes)");
}

TEST(TFRecord, records_without_an_image_are_passed_over_and_told_at_each_start) {
  const std::string about = record(example(feature("num_samples", int64_list({2}))));
  Records records(
      {{"train-0.tfrecord", about + labelled("one", 0) + record("") + labelled("two", 1)},
       {"train-1.tfrecord", about}});
  for (int i = 0; i < 2; ++i) {
    records.remarks.clear();
    const Dataset& data = records.build();
    EXPECT_EQ(keys(data, Split::train), (Strings{"train-0.tfrecord/1", "train-0.tfrecord/3"}));
    EXPECT_EQ(read_sample(data, Split::train, 1), "two");
    EXPECT_EQ(records.remarks,
              Strings{"dataset: passed over 4 that are no part of a sample: 'train-0.tfrecord: "
                      "record 0 without image/encoded', 'train-0.tfrecord: record 2 without "
                      "image/encoded', 'train-1.tfrecord: record 0 without image/encoded' and "
                      "'train-1.tfrecord: it has no samples'"});
    EXPECT_EQ(data.ignored().size(), 4u);
  }
}

TEST(TFRecord, a_wrong_checksum_of_data_is_a_bad_sample_at_the_scan_and_at_each_reading) {
  const std::string one = labelled("one", 0), two = labelled("two", 0);
  std::string damaged = two;
  damaged[damaged.size() - 6] ^= 1;
  Records records({{"train.tfrecord", one + damaged + one}});
  records.build();
  EXPECT_EQ(records.bad(1), "corrupt: its checksum is wrong");
  EXPECT_EQ(read_sample(*records.dataset, Split::train, 2), "one");
  put(records.tier(), "train.tfrecord", damaged + two + one);  // behind the back of the index
  records.build();
  EXPECT_EQ(records.bad(0), "corrupt: its checksum is wrong");
}

TEST(TFRecord, every_damaged_byte_is_noticed) {
  const std::string one = labelled("one", 0), two = labelled("two", 1);
  for (size_t at = 0; at < two.size(); ++at) {
    std::string damaged = two;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    Records records({{"train.tfrecord", one + damaged}});
    EXPECT_EQ(records.build().size(Split::train), 2) << at;
    EXPECT_EQ(read_sample(*records.dataset, Split::train, 0), "one");
    EXPECT_NE(records.bad(1), "") << at;
  }
}

TEST(TFRecord, what_is_behind_a_wrong_checksum_of_a_length_is_one_bad_sample) {
  std::string damaged = labelled("two", 0);
  damaged[0] ^= 1;
  Records records({{"train.tfrecord", labelled("one", 0) + damaged + labelled("three", 0)}});
  EXPECT_EQ(keys(records.build(), Split::train), (Strings{"train.tfrecord/0", "train.tfrecord/1"}));
  EXPECT_EQ(read_sample(*records.dataset, Split::train, 0), "one");
  EXPECT_EQ(records.bad(1),
            "corrupt: the checksum of its length is wrong: what follows in its shard is lost");
}

TEST(TFRecord, a_shard_that_is_cut_anywhere_has_a_bad_sample_there) {
  const std::string one = labelled("one", 0), two = labelled("two", 0);
  for (size_t cut = 1; cut < two.size(); ++cut) {
    Records records({{"train.tfrecord", one + two.substr(0, cut)}});
    EXPECT_EQ(records.build().size(Split::train), 2) << cut;
    EXPECT_EQ(read_sample(*records.dataset, Split::train, 0), "one");
    EXPECT_EQ(records.bad(1), cut < kRecordHead
                                  ? "truncated: its shard ends in the middle of its head"
                                  : "truncated: its shard ends in the middle of it");
  }
}

TEST(TFRecord, a_huge_length_with_the_right_checksum_is_a_bad_sample) {
  for (const uint64_t length :
       {UINT64_MAX, UINT64_MAX - 15, UINT64_MAX - 4, uint64_t{1} << 40, uint64_t{3}}) {
    const auto head = record_head(length);
    Records records({{"train.tfrecord",
                      labelled("one", 0) + std::string(head.begin(), head.end()) + "123456"}});
    records.build();
    EXPECT_EQ(records.bad(1), "truncated: its shard ends in the middle of it") << length;
  }
}

TEST(TFRecord, what_is_no_such_file_is_refused) {
  const auto refused = [](const std::string& bytes) {
    return Records({{"train.tfrecord", bytes}}).refused();
  };
  const std::string packed =
      "dataset: shard train.tfrecord is a compressed file, in which no sample can be found by "
      "itself: unpack it (gzip -dc), or write it without compression";
  EXPECT_EQ(refused(make_tar_gz({{"a/1.jpg", "one"}})), packed);
  EXPECT_EQ(refused("\x78\x9c" + std::string(100, 'x')), packed);  // zlib
  EXPECT_EQ(refused(std::string(100, 'x')),
            "dataset: shard train.tfrecord is no TFRecord file, or its begin is damaged: repair "
            "it, or take it out of the pattern");
  EXPECT_EQ(refused(""),
            "dataset: there are no samples in 'train*.tfrecord*' in tier 'data': set dataset.train "
            "to a pattern of shards that have samples");
}

TEST(TFRecord, what_was_written_is_read_again) {
  Records records(ArchiveFiles{{"classes.txt", "cat\nowl\n"}});
  const Strings classes{"cat", "owl"};
  const auto format = parse_component<ShardFormatWriter>(parse_yaml("{type: tfrecord}", "t.yaml"));
  const std::string key = "train-0" + format.info().extension;
  const auto shard = format.create({classes})->create(records.tier(), key);
  const auto view = [](const std::string& text) {
    return Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  shard->add({"owl/1.jpg", 1, view(kImage)});
  shard->add({"2.jpg", 0, view("")});
  EXPECT_EQ(error_of([&] {
              shard->add({"3.jpg", 2, view("x")});
            }),
            "sample 3.jpg: its label is 2, and there are 2 classes");
  shard->commit();
  for (const std::string options : {"", ", label: ''"}) {
    const Dataset& data = records.build(options);
    EXPECT_EQ(data.classes(), classes);
    EXPECT_EQ(keys(data, Split::train), (Strings{"owl/1.jpg", "cat/2.jpg"}));
    EXPECT_EQ(data.info(Split::train, 0).label, 1);
    EXPECT_EQ(data.info(Split::train, 1).label, 0);
    EXPECT_EQ(read_sample(data, Split::train, 0), kImage);
    EXPECT_EQ(read_sample(data, Split::train, 1), "");
  }
}

}  // namespace
}  // namespace stoker
