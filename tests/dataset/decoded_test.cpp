#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "io/core/error.h"
#include "io/loader/loader.h"
#include "io/metrics/loader_meter.h"
#include "tests/support/archives.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/fakes.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr const char* kFolder =
    "{type: image_folder, storage: data, split: {train_per_class: 8, test_per_class: 2}}";
constexpr size_t kSize = 32;
constexpr size_t kSample = kSize * kSize * 3;

Component<Decoder> decoder(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  return Registry<Decoder>::global().parse(Section(node, "", "decoder", nullptr));
}

std::string decoded(const std::string& options) {
  return std::string("{type: decoded, inner: ") + kFolder +
         ", decoder: {type: turbojpeg, size: 32}, " + options + "}";
}

// The digests of two epochs.
std::vector<std::string> digests(const Dataset& dataset, const std::string& decoder_yaml,
                                 const std::string& loader) {
  FakeDevice device;
  Tracer tracer;
  LoaderMeter meter{"train", tracer};
  const auto pixels = decoder(decoder_yaml).create({});
  const Node node =
      parse_yaml("{type: " + loader + ", batch_size: 7, workers: 3, digest: true}", "test.yaml");
  const auto batches =
      Registry<Loader>::global()
          .parse(Section(node, "", "loader", nullptr))
          .create({dataset, *pixels, device.allocator(), Split::train, 5, {}, meter, {}, &device});
  std::vector<std::string> result;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    batches->start(epoch, 0);
    while (const auto batch = batches->next()) result.push_back(batch->digests);
  }
  return result;
}

// Files with a count of what was read.
class Counting final : public Storage {
 public:
  Counting(std::atomic<int64_t>& reads, std::atomic<size_t>& bytes)
      : reads_(reads), bytes_(bytes) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return files_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    ++reads_;
    files_->read(key, out, range);
    bytes_ += out.size();
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return files_->create(key);
  }
  void remove(const std::string& key) override { files_->remove(key); }

 private:
  std::unique_ptr<Storage> files_ =
      posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini");
  std::atomic<int64_t>& reads_;
  std::atomic<size_t>& bytes_;
};

struct Decoded : testing::Test {
  std::atomic<int64_t> reads{0};
  std::atomic<size_t> bytes{0};
  TestDataset setup{std::make_unique<Counting>(reads, bytes)};
  TemporaryDirectory directory;
};

TEST_F(Decoded, gives_the_same_batches_by_every_loader_and_limit) {
  const std::string plain = "{type: turbojpeg, size: 32}";
  const std::string raw = "{type: raw, height: 32, width: 32, size: 32}";
  const auto expected = digests(setup.build(kFolder), plain, "sync");
  ASSERT_GT(expected.size(), 10u);
  for (const std::string loader : {"sync", "threaded", "prefetched", "device_prefetched"}) {
    for (const char* options :
         {"limit: 1GiB", "limit: 100k", "limit: 0", "limit: 100k, keep: most_expensive"}) {
      EXPECT_EQ(digests(setup.build(decoded(options)), raw, loader), expected)
          << loader << " " << options;
    }
  }
  const std::string on_files = "in: {type: posix, root: " + directory.path() + "}";
  EXPECT_EQ(digests(setup.build(decoded(on_files)), raw, "prefetched"), expected);
  EXPECT_EQ(digests(setup.build(decoded(on_files)), raw, "sync"), expected);  // as the next process
}

TEST_F(Decoded, samples_of_one_name_and_size_in_two_shards_are_two) {
  TestDataset shards(make_storage("{type: memory}"));
  for (const std::string shard : {"a", "b"}) {
    const ArchiveFiles files{{"cls/1.jpg", std::string(12, shard[0])}};
    put(shards.tier(), "train-" + shard + ".tar",
        make_archive(files, ARCHIVE_FORMAT_TAR_USTAR, false));
  }
  const Dataset& dataset = shards.build(
      "{type: decoded, inner: {type: tar_shards, storage: data}, decoder: {type: raw, height: 2, "
      "width: 2, size: 2}, in: {type: posix, root: " +
      directory.path() + "}}");
  EXPECT_EQ(read_sample(dataset, Split::train, 0), std::string(12, 'a'));
  EXPECT_EQ(read_sample(dataset, Split::train, 1), std::string(12, 'b'));
}

TEST_F(Decoded, reads_no_file_twice) {
  const Dataset& dataset = setup.build(decoded("limit: 1GiB"));
  const int64_t samples = dataset.size(Split::train);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int64_t i = 0; i < samples; ++i) {
      EXPECT_EQ(read_sample(dataset, Split::train, i).size(), kSample);
    }
    EXPECT_EQ(reads, samples);
  }
  EXPECT_EQ(dataset.info(Split::train, 3).bytes, kSample);
  read_sample(dataset, Split::test, 0);
  EXPECT_EQ(reads, samples + 1);
}

TEST_F(Decoded, keeps_no_more_than_its_limit_and_keeps_that) {
  const Dataset& dataset = setup.build(decoded("limit: " + std::to_string(10 * kSample + 5)));
  const int64_t samples = dataset.size(Split::train);
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    for (int64_t i = 0; i < samples; ++i) read_sample(dataset, Split::train, i);
    EXPECT_EQ(reads, samples + epoch * (samples - 10));
  }
}

TEST_F(Decoded, kept_pixels_are_handed_out_without_a_copy) {
  const std::string on_files = "in: {type: posix, root: " + directory.path() + "}";
  for (const std::string& options : {std::string("limit: 1GiB"), on_files}) {
    const Dataset& dataset = setup.build(decoded(options));
    const std::string once = read_sample(dataset, Split::train, 5);
    read_sample(dataset, Split::train, 5);
    Buffer unused;
    const Bytes kept = dataset.read(Split::train, 5, unused).bytes;
    EXPECT_EQ(std::string(kept.begin(), kept.end()), once);
    EXPECT_EQ(unused.data(), nullptr) << options;
    EXPECT_EQ(dataset.read(Split::train, 5, unused).bytes.data(), kept.data()) << options;
  }
}

TEST_F(Decoded, a_tier_whose_reads_are_timed_is_read_each_time) {
  const Dataset& dataset = setup.build(decoded(
      "in: {type: emulated, profile: ssd, inner: {type: posix, root: " + directory.path() + "}}"));
  const std::string once = read_sample(dataset, Split::train, 5);
  Buffer scratch;
  for (int i = 0; i < 3; ++i) {
    const Bytes read = dataset.read(Split::train, 5, scratch).bytes;
    EXPECT_EQ(read.data(), scratch.data());
    EXPECT_EQ(std::string(scratch.bytes().begin(), scratch.bytes().end()), once);
  }
  EXPECT_EQ(reads, 1);
}

// 10 of the samples fit. Encoded bytes read in the second epoch are the work that is left.
TEST_F(Decoded, the_most_expensive_save_more_than_the_first_read) {
  const Dataset& plain = setup.build(kFolder);
  std::vector<size_t> sizes;
  for (int64_t i = 0; i < plain.size(Split::train); ++i) {
    sizes.push_back(plain.info(Split::train, i).bytes);
  }
  std::ranges::sort(sizes);
  const auto second_epoch = [&](const std::string& keep) {
    const Dataset& dataset =
        setup.build(decoded("limit: " + std::to_string(10 * kSample) + ", keep: " + keep));
    for (int64_t i = 0; i < dataset.size(Split::test); ++i) read_sample(dataset, Split::test, i);
    for (int epoch = 0; epoch < 2; ++epoch) {
      bytes = 0;
      for (size_t i = 0; i < sizes.size(); ++i) {
        read_sample(dataset, Split::train, static_cast<int64_t>(i));
      }
    }
    return bytes.load();
  };
  const size_t least = std::accumulate(sizes.begin(), sizes.end() - 10, size_t{0});
  EXPECT_EQ(second_epoch("most_expensive"), least);
  EXPECT_GT(second_epoch("first_read"), least);
}

TEST_F(Decoded, labels_and_classes_are_those_of_the_inner_data_set) {
  Dataset& plain = setup.build(kFolder);
  const auto inner = std::move(setup.dataset);
  const Dataset& dataset = setup.build(decoded("limit: 1GiB"));
  EXPECT_EQ(dataset.classes(), plain.classes());
  Buffer buffer;
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < dataset.size(Split::test); ++i) {
      EXPECT_EQ(dataset.read(Split::test, i, buffer).label, plain.info(Split::test, i).label);
      EXPECT_EQ(dataset.info(Split::test, i).key, plain.info(Split::test, i).key);
    }
  }
}

TEST_F(Decoded, pixels_on_files_are_found_again_only_where_they_are_the_same) {
  const std::string in = "in: {type: posix, root: " + directory.path() + "}";
  const auto read_all = [&](const std::string& yaml, uint64_t seed) {
    reads = 0;
    const Dataset& dataset = setup.build(yaml, seed);
    for (int64_t i = 0; i < dataset.size(Split::train); ++i) {
      read_sample(dataset, Split::train, i);
    }
    return reads.load();
  };
  const int64_t samples = read_all(decoded(in), 1);
  EXPECT_GT(samples, 0);
  EXPECT_EQ(read_all(decoded(in), 1), 0);
  std::string antialias = decoded(in);
  antialias.replace(antialias.find("size: 32"), 8, "size: 32, resize: antialias");
  EXPECT_EQ(read_all(antialias, 1), samples);
  EXPECT_EQ(read_all(antialias, 1), 0);
  EXPECT_EQ(read_all(decoded(in), 1), 0);
}

TEST_F(Decoded, a_place_for_pixels_that_fails_is_a_remark_and_no_error) {
  directory.write("file", "no directory");
  const Dataset& dataset =
      setup.build(decoded("in: {type: posix, root: " + directory / "file" + "}"));
  const std::string once = read_sample(dataset, Split::train, 0);
  EXPECT_EQ(read_sample(dataset, Split::train, 0), once);
  EXPECT_EQ(reads, 2);
  read_sample(dataset, Split::train, 1);
  int remarks = 0;
  for (const std::string& remark : setup.remarks) {
    remarks += remark.find("no more pixels are kept") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(remarks, 1);
}

TEST_F(Decoded, a_damaged_file_is_a_bad_sample_each_time) {
  TemporaryDirectory data;
  for (int i = 0; i < 3; ++i) data.write("a/" + std::to_string(i) + ".jpg", "no image");
  TestDataset damaged(posix_storage(data.path()));
  const Dataset& dataset = damaged.build(
      "{type: decoded, inner: {type: image_folder, storage: data, split: {train_per_class: 2}, "
      "on_error: {policy: skip, budget: 7}}}");
  EXPECT_EQ(dataset.on_error().policy, ErrorPolicy::skip);
  Buffer buffer;
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(dataset.read(Split::train, 0, buffer), BadSample);
  }
}

TEST_F(Decoded, damage_that_was_tolerated_is_told_where_it_is_decoded) {
  TemporaryDirectory data;
  const Dataset& files = setup.build(kFolder);
  for (int i = 0; i < 3; ++i) {
    const std::string image = read_sample(files, Split::train, i);
    data.write("a/" + std::to_string(i) + ".jpg", image.substr(0, image.size() / 2));
  }
  TestDataset damaged(posix_storage(data.path()));
  const Dataset& dataset = damaged.build(
      "{type: decoded, inner: {type: image_folder, storage: data, split: {train_per_class: 2}}, "
      "decoder: {type: jpeg, size: 32, tolerance: as_libjpeg}}");
  Buffer buffer;
  EXPECT_EQ(dataset.read(Split::train, 0, buffer).tolerated, "Premature end of JPEG file");
  EXPECT_EQ(dataset.read(Split::train, 0, buffer).tolerated, "");  // they are pixels now
}

TEST_F(Decoded, kept_pixels_are_uint8_and_may_be_normalised_when_they_are_used) {
  const std::string yaml = std::string("{type: decoded, inner: ") + kFolder +
                           ", decoder: {type: turbojpeg, output: float32}}";
  EXPECT_NE(error_of([&] { TestDataset::parse(yaml); }).find("must give uint8"), std::string::npos);
}

TEST_F(Decoded, augmentation_of_kept_pixels_is_refused) {
  const std::string yaml = std::string("{type: decoded, inner: ") + kFolder +
                           ", decoder: {type: turbojpeg, augment: {flip: true}}}";
  EXPECT_NE(error_of([&] { TestDataset::parse(yaml); }).find("must not augment"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
