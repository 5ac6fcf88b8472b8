#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/tools/data/convert/convert.h"
#include "io/core/digest.h"
#include "io/core/error.h"
#include "tests/app/tools/data/convert/conversions.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/mounted.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder =
    "{type: image_folder, storage: data, split: {train_per_class: 6, test_per_class: 2}}";
constexpr const char* kDecoder = "{type: turbojpeg, size: 32}";
constexpr const char* kRaw = "{type: raw, height: 32, width: 32, size: 32}";
constexpr size_t kSample = 32 * 32 * 3;

struct PackedPixels : testing::Test {
  // Writes to the tier "data" with 10 samples in a shard.
  ConvertResult pack(const Tiers& to, const Dataset& dataset, const std::string& folder = "",
                     std::optional<uint64_t> shuffle = {}) {
    ConvertOptions options = conversion("packed", 10 * kSample + 100);
    options.plan.shuffle = shuffle;
    return convert_dataset(dataset, *test_decoder(kDecoder), {to, "data", folder}, options);
  }
  ConvertResult pack() {
    if (!source.dataset) source.build(kFolder);
    return pack(target.tiers, *source.dataset);
  }
  // A data set on the packed directory.
  Dataset& open(const std::string& options = "") {
    reader = std::make_unique<TestDataset>(posix_storage(packed.path()));
    return reader->build("{type: packed, storage: data" + options + "}");
  }
  std::string shard(int number) const {
    return packed / ("train-0000" + std::to_string(number) + ".pixels");
  }
  void change_byte(const std::string& path, int64_t offset) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(offset);
    const int byte = file.get();
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 1));
  }

  TestDataset source{posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini")};
  TemporaryDirectory packed;
  TestDataset target{posix_storage(packed.path())};
  std::unique_ptr<TestDataset> reader;
};

TEST_F(PackedPixels, gives_the_same_batches_by_every_loader_and_access) {
  const Dataset& files = source.build(kFolder);
  const ConvertResult result = pack();
  EXPECT_EQ(result.samples, files.size(Split::train) + files.size(Split::test));
  EXPECT_EQ(result.bytes, static_cast<uint64_t>(result.samples) * kSample);
  EXPECT_EQ(result.shards,
            (files.size(Split::train) + 9) / 10 + (files.size(Split::test) + 9) / 10);
  ASSERT_GT(result.shards, 3);
  for (const Split split : {Split::train, Split::test}) {
    const auto expected = digests(files, kDecoder, "sync", split);
    ASSERT_GT(expected.size(), 3u);
    for (const std::string loader : {"sync", "threaded", "prefetched", "device_prefetched"}) {
      for (const char* access : {"", ", access: copy", ", access: whole"}) {
        EXPECT_EQ(digests(open(access), kRaw, loader, split), expected) << loader << access;
      }
    }
  }
}

TEST_F(PackedPixels, mixes_the_training_samples_by_a_seed) {
  const Dataset& files = source.build(kFolder);
  std::map<std::string, std::string> pixels;
  pack();
  const Dataset& plain = open();
  for (int64_t i = 0; i < plain.size(Split::train); ++i) {
    pixels[plain.info(Split::train, i).key] = read_sample(plain, Split::train, i);
  }
  std::vector<std::vector<std::string>> orders;
  for (const uint64_t seed : {5, 6}) {
    pack(target.tiers, files, std::to_string(seed), seed);
    const Dataset& mixed = open(", folder: " + std::to_string(seed));
    EXPECT_EQ(keys(mixed, Split::test), keys(files, Split::test));
    orders.push_back(keys(mixed, Split::train));
    EXPECT_THAT(orders.back(), testing::UnorderedElementsAreArray(keys(files, Split::train)));
    std::map<int64_t, std::set<int64_t>> classes;  // by file
    for (int64_t i = 0; i < mixed.size(Split::train); ++i) {
      const SampleInfo info = mixed.info(Split::train, i);
      classes[info.file].insert(info.label);
      EXPECT_EQ(read_sample(mixed, Split::train, i), pixels.at(info.key)) << info.key;
    }
    // Class after class a file has two of the ten.
    for (const auto& [file, found] : classes) EXPECT_GE(found.size(), 3u) << file;
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST_F(PackedPixels, augments_as_kept_pixels_are_augmented) {
  pack();
  const std::string augmented =
      "{type: raw, height: 32, width: 32, size: 24, "
      "augment: {random_resized_crop: {}, flip: true}}";
  const std::string kept =
      std::string("{type: decoded, inner: ") + kFolder + ", decoder: " + kDecoder + "}";
  EXPECT_EQ(digests(open(), augmented, "prefetched", Split::train),
            digests(source.build(kept), augmented, "prefetched", Split::train));
}

TEST_F(PackedPixels, labels_classes_keys_and_split_are_those_of_the_source) {
  pack();
  const Dataset& files = source.build(kFolder);
  const Dataset& pixels = open();
  EXPECT_EQ(pixels.classes(), files.classes());
  Buffer buffer;
  for (const Split split : {Split::train, Split::test}) {
    EXPECT_EQ(keys(pixels, split), keys(files, split));
    for (int64_t i = 0; i < files.size(split); ++i) {
      EXPECT_EQ(pixels.info(split, i).label, files.info(split, i).label);
      EXPECT_EQ(pixels.info(split, i).bytes, kSample);
      EXPECT_EQ(pixels.read(split, i, buffer).label, files.info(split, i).label);
    }
  }
  EXPECT_EQ(buffer.data(), nullptr);  // mapped
}

TEST_F(PackedPixels, says_which_samples_share_a_file) {
  pack();
  const std::string plain = "{type: packed, storage: data}";
  const std::string decoded =
      std::string("{type: decoded, inner: ") + plain + ", decoder: " + kRaw + "}";
  for (const std::string& type : {plain, decoded}) {
    TestDataset data(posix_storage(packed.path()));
    const Dataset& dataset = data.build(type);
    const int64_t train = dataset.size(Split::train);
    for (const int64_t i : {int64_t{0}, int64_t{9}, int64_t{10}, train - 1}) {
      EXPECT_EQ(dataset.info(Split::train, i).file, i / 10);
    }
    EXPECT_EQ(dataset.info(Split::test, 0).file, (train + 9) / 10);
  }
  EXPECT_EQ(source.build(kFolder).info(Split::train, 1).file, -1);
}

TEST_F(PackedPixels, reads_a_tier_that_has_no_files_or_times_its_reads) {
  const Dataset& files = source.build(kFolder);
  const auto expected = digests(files, kDecoder, "sync", Split::train);
  pack(target.tiers, files, "some/folder");
  TestDataset timed(make_storage(
      "{type: emulated, profile: ssd, inner: {type: posix, root: " + packed.path() + "}}"));
  Dataset& dataset = timed.build("{type: packed, storage: data, folder: some/folder}");
  EXPECT_EQ(digests(dataset, kRaw, "prefetched", Split::train), expected);
  Buffer buffer;
  const Bytes read = dataset.read(Split::train, 0, buffer).bytes;
  EXPECT_EQ(read.data(), buffer.data());
  TestDataset memory(make_storage("{type: memory}"));
  pack(memory.tiers, files, "p/");
  EXPECT_EQ(
      digests(memory.build("{type: packed, storage: data, folder: p}"), kRaw, "sync", Split::train),
      expected);
}

TEST_F(PackedPixels, an_order_by_files_reads_each_shard_once_in_an_epoch) {
  const Dataset& files = source.build(kFolder);
  auto tier = std::make_unique<CountingStorage>(make_storage("{type: memory}"));
  const CountingStorage& counted = *tier;
  TestDataset whole(std::move(tier));
  pack(whole.tiers, files);
  const int64_t shards = (files.size(Split::train) + 9) / 10;
  // A batch of 7 lies in two shards at most, and workers may begin the next one.
  for (const std::string loader : {"sync, order: ", "threaded, order: "}) {
    for (const std::string order : {"local_files", "global_files"}) {
      SCOPED_TRACE(loader + order);
      int64_t sum = 0;
      for (const int64_t rank : {0, 1}) {
        const Dataset& dataset =
            whole.build("{type: packed, storage: data, access: whole, keep_shards: 3}");
        counted.reads();
        digests(dataset, kRaw, loader + order + ", drop_last: false", Split::train, {rank, 2}, 1);
        for (const auto& [shard, times] : counted.reads()) {
          EXPECT_EQ(times, 1) << shard;
          ++sum;
        }
      }
      EXPECT_GE(sum, shards);
      EXPECT_LE(sum, shards + 1);  // one may be cut
    }
  }
}

TEST_F(PackedPixels, a_damaged_sample_is_a_bad_sample_and_the_others_are_good) {
  pack();
  change_byte(shard(1), 3 * kSample + 7);  // sample 13
  for (const char* access : {"", ", access: copy", ", access: whole"}) {
    const Dataset& dataset = open(access);
    Buffer buffer;
    for (int64_t i = 0; i < dataset.size(Split::train); ++i) {
      if (i == 13) continue;
      EXPECT_NO_THROW(dataset.read(Split::train, i, buffer)) << i;
    }
    const auto message = error_of([&] { dataset.read(Split::train, 13, buffer); });
    EXPECT_EQ(message,
              "its pixels in shard train-00001.pixels are not those that were written (checksum)");
    const auto batch = error_of([&] { digests(dataset, kRaw, "prefetched", Split::train); });
    EXPECT_NE(batch.find(dataset.info(Split::train, 13).key + ": corrupt"), std::string::npos);
  }
  const Dataset& lenient = open(", on_error: {policy: skip}");
  EXPECT_NO_THROW(digests(lenient, kRaw, "sync", Split::train));
}

TEST_F(PackedPixels, a_shard_that_is_cut_short_or_missing_is_named) {
  pack();
  fs::resize_file(shard(2), 10 * kSample - 1);
  EXPECT_NE(error_of([&] { open(); }).find("train-00002.pixels has 30719 bytes, where 30720"),
            std::string::npos);
  fs::remove(shard(2));
  EXPECT_NE(error_of([&] { open(); }).find("train-00002.pixels is missing"), std::string::npos);
}

TEST_F(PackedPixels, a_shard_that_is_cut_short_meanwhile_is_a_bad_sample) {
  pack();
  for (const char* access : {"", ", access: copy", ", access: whole"}) {
    const Dataset& dataset = open(access);
    fs::resize_file(shard(0), 0);
    Buffer buffer;
    EXPECT_THROW(dataset.read(Split::train, 9, buffer), BadSample) << access;
    fs::resize_file(shard(0), 10 * kSample);
  }
}

TEST_F(PackedPixels, an_index_that_is_absent_damaged_or_foreign_is_said_to_be_so) {
  packed.write("cat/1.jpg", "");
  EXPECT_NE(error_of([&] {
              open();
            }).find("there is no packed.json in tier 'data'; there is 'cat/1.jpg': write it by"),
            std::string::npos);
  packed.write("out/packed.json", "");
  EXPECT_EQ(error_of([&] { open(); }),
            "dataset: there is no packed.json in tier 'data'; there is 'out/packed.json': set "
            "dataset.folder=out");
  fs::remove_all(packed / "cat");
  fs::remove_all(packed / "out");
  pack();
  EXPECT_EQ(error_of([&] { open(", folder: in"); }),
            "dataset: there is no in/packed.json in tier 'data'; there is 'packed.json': set "
            "dataset.folder=''");
  const std::string text = packed.read("packed.json");
  std::string changed = text;
  changed[changed.find("\"labels\":[0") + 10] = '1';
  packed.write("packed.json", changed);
  EXPECT_NE(error_of([&] { open(); }).find("packed.json is damaged (checksum)"), std::string::npos);
  packed.write("packed.json", text.substr(0, text.size() / 2));
  EXPECT_NE(error_of([&] { open(); }).find("packed.json no JSON"), std::string::npos);
  packed.write("packed.json", R"({"index": {"format": "other"}, "checksum": "x"})");
  EXPECT_NE(error_of([&] { open(); }).find("packed.json is no index of stoker packed pixels"),
            std::string::npos);
  changed = text;
  changed[changed.find("\"version\":2") + 10] = '7';
  packed.write("packed.json", changed);
  EXPECT_NE(error_of([&] { open(); }).find("is of version 7, where 2 is read"), std::string::npos);
}

TEST_F(PackedPixels, an_index_made_to_do_harm_is_refused) {
  pack();
  const std::string text = packed.read("packed.json");
  // Signed as it should be, so that only what it says can be refused.
  nlohmann::json index = nlohmann::json::parse(text)["index"];
  const uint64_t samples = index["train"]["keys"].size() + index["test"]["keys"].size();
  index["shard_samples"] = {UINT64_MAX, samples + 1};  // so that their sum would wrap
  index["shards"] = {"one", "other"};
  packed.write("packed.json",
               nlohmann::json{{"checksum", xxh3_128(index.dump())}, {"index", index}}.dump());
  EXPECT_THAT(error_of([&] { open(); }), testing::HasSubstr("contradicts itself"));
  packed.write("packed.json", R"({"index": {"format": "stoker packed pixels", "version": )" +
                                  std::string(400'000, '['));
  EXPECT_THAT(error_of([&] { open(); }), testing::HasSubstr("nested more than"));
}

TEST_F(PackedPixels, writes_over_nothing) {
  pack();
  const std::string before = packed.read("packed.json");
  EXPECT_TRUE(pack().complete_before);
  EXPECT_THAT(error_of([&] { pack(target.tiers, *source.dataset, "", 7); }),
              testing::HasSubstr("there is a packed.json already"));
  EXPECT_EQ(packed.read("packed.json"), before);
  EXPECT_NO_THROW(open());
}

TEST_F(PackedPixels, bad_samples_stop_it_or_are_left_out_within_the_budget) {
  TemporaryDirectory data;
  const std::string image = get(source.tier(), keys(source.build(kFolder), Split::train).at(0));
  for (int i = 0; i < 6; ++i) {
    data.write("a/" + std::to_string(i) + ".jpg", i == 2 ? "no image" : image);
  }
  TestDataset damaged(posix_storage(data.path()));
  const auto dataset = [&](const std::string& on_error) -> Dataset& {
    return damaged.build(
        "{type: image_folder, storage: data, split: {train_per_class: 6, test_per_class: 0}, "
        "on_error: " +
        on_error + "}");
  };
  const auto pack_with = [&](const std::string& on_error) {
    return pack(target.tiers, dataset(on_error));
  };
  EXPECT_NE(error_of([&] { pack_with("{policy: fail}"); }).find("a/2.jpg: not_an_image"),
            std::string::npos);
  EXPECT_NE(error_of([&] { pack_with("{policy: skip, budget: 0}"); }).find("budget allows"),
            std::string::npos);
  const ConvertResult result = pack_with("{policy: skip}");
  EXPECT_EQ(result.samples, 5);
  ASSERT_EQ(result.left_out.size(), 1u);
  EXPECT_EQ(result.left_out[0].key + " " + result.left_out[0].reason, "a/2.jpg not_an_image");
  EXPECT_EQ(open().size(Split::train), 5);
}

TEST_F(PackedPixels, a_full_disk_is_an_error_after_which_the_same_call_goes_on) {
  STOKER_NEEDS_MOUNTS();
  const Dataset& files = source.build(kFolder);
  TestDataset uninterrupted(make_storage("{type: memory}"));
  pack(uninterrupted.tiers, files);
  const std::string result = run_mounted(packed.path(), "tmpfs", "size=200k", [&] {
    try {
      pack(target.tiers, files);
    } catch (const IoError& error) {
      EXPECT_EQ(error.errno_value(), ENOSPC);
      EXPECT_EQ(error.code(), ExitCode::environment);
      ::mount("none", packed.path().c_str(), nullptr, MS_REMOUNT, "size=9m");
      const int64_t found = pack(target.tiers, files).found;
      const bool same = contents(target.tier()) == contents(uninterrupted.tier());
      return std::string(found > 0 && same ? "went on" : "did not go on");
    }
    return std::string("no error");
  });
  EXPECT_EQ(result, "went on");
}

}  // namespace
}  // namespace stoker
