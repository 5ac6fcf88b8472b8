#include "app/tools/data/convert/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include "io/core/error.h"
#include "io/dataset/shards/shard_index.h"
#include "tests/app/tools/data/convert/conversions.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/registered.h"
#include "tests/support/short_tests.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMini =
    "{type: image_folder, storage: data, split: {train_per_class: 6, test_per_class: 2}}";
constexpr const char* kJpeg = "{type: turbojpeg, size: 32}";
constexpr const char* kPixels = "{type: raw, height: 32, width: 32, size: 32}";
constexpr uint64_t kShard = 100'000;  // some of about 15 KB

// All that can be written and read again.
std::vector<std::string> formats() {
  std::vector<std::string> names;
  for (const std::string& name : registered_types<ShardFormatWriter>()) {
    if (Registry<Dataset>::global().find(name) != nullptr) names.push_back(name);
  }
  return names;
}

bool holds_pixels(const std::string& format) {
  return default_component<ShardFormatWriter>(format).info().pixels;
}

// A data set that was written into a tier named "data", and how it is read.
struct Converted {
  explicit Converted(std::unique_ptr<Storage> tier = make_storage("{type: memory}"))
      : data(std::move(tier)) {}
  const ConvertResult& write(const Dataset& source, const std::string& format,
                             const ConvertHooks& hooks = {}, uint64_t shard_bytes = kShard) {
    return write(source, conversion(format, shard_bytes), hooks);
  }
  const ConvertResult& write(const Dataset& source, const ConvertOptions& options,
                             const ConvertHooks& hooks = {}) {
    result =
        convert_dataset(source, *test_decoder(kJpeg), {data.tiers, "data", folder}, options, hooks);
    return result;
  }
  const Dataset& open() {
    data.dataset = parse_component<Dataset>(result.dataset).create({data.tiers, 1, {}});
    return *data.dataset;
  }

  TestDataset data;
  std::string folder;
  ConvertResult result;
};

struct Convert : testing::Test {
  const Dataset& files() { return source.build(kMini); }

  TestDataset source{posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini")};
};

// Stops after so many samples were written, as a process that ends does.
ConvertHooks stop_after(int64_t samples, const std::string& phase = "samples") {
  ConvertHooks hooks;
  hooks.progress = [=](const std::string& what, int64_t done, int64_t) {
    if (what == phase && done >= samples) throw std::runtime_error("ended here");
  };
  return hooks;
}

TEST_F(Convert, every_format_gives_the_batches_of_its_source_by_every_loader) {
  const Dataset& original = files();
  ASSERT_GE(formats().size(), 3u);
  for (const std::string& format : formats()) {
    for (const char* folder : {"", "some [odd] folder"}) {
      Converted converted;
      converted.folder = folder;
      const ConvertResult& result = converted.write(original, format);
      EXPECT_EQ(result.samples, original.size(Split::train) + original.size(Split::test));
      EXPECT_GT(result.shards, 2) << format;
      const Dataset& dataset = converted.open();
      EXPECT_EQ(dataset.classes(), original.classes()) << format;
      for (const Split split : {Split::train, Split::test}) {
        const auto expected = digests(original, kJpeg, "sync", split);
        ASSERT_GT(expected.size(), 3u);
        const std::vector<std::string> loaders = {"sync", "threaded", "prefetched",
                                                  "device_prefetched"};
        for (size_t i = 0; i < loaders.size(); i += stride(2)) {
          const std::string& loader = loaders[i];
          EXPECT_EQ(digests(dataset, holds_pixels(format) ? kPixels : kJpeg, loader, split),
                    expected)
              << format << " by " << loader;
        }
      }
    }
  }
}

TEST_F(Convert, a_folder_is_the_same_after_a_way_through_every_format) {
  const Dataset& original = files();
  Converted direct;
  direct.write(original, "image_folder");
  const auto expected = contents(direct.data.tier());
  EXPECT_EQ(std::ssize(expected), original.size(Split::train) + original.size(Split::test));
  for (const auto& [key, bytes] : expected) {
    const std::string of = key.substr(key.find('/') + 1);
    EXPECT_EQ(bytes, get(source.tier(), of)) << key;
  }
  for (const std::string& format : formats()) {
    if (holds_pixels(format)) continue;
    Converted through, back;
    through.write(original, format);
    back.write(through.open(), "image_folder");
    const auto found = contents(back.data.tier());
    if (keys(through.open(), Split::train).at(0).find('/') != std::string::npos) {
      EXPECT_EQ(found, expected) << format;
    }
    EXPECT_EQ(digests(back.open(), kJpeg, "sync", Split::train),
              digests(direct.open(), kJpeg, "sync", Split::train));
  }
}

TEST_F(Convert, after_any_end_the_same_call_goes_on_and_the_result_is_the_same_to_the_byte) {
  const Dataset& original = files();
  for (const std::string& format : formats()) {
    Converted whole;
    whole.write(original, format);
    const auto expected = contents(whole.data.tier());
    for (const int64_t samples : {1, 20, 45, 80}) {
      TemporaryDirectory directory;
      Converted resumed(posix_storage(directory.path()));
      EXPECT_EQ(error_of([&] { resumed.write(original, format, stop_after(samples)); }),
                "ended here");
      EXPECT_TRUE(contents(resumed.data.tier()).contains("convert.json"));
      const ConvertResult& result = resumed.write(original, format);
      EXPECT_TRUE(samples < 80 || result.found > 0) << format;
      EXPECT_LT(result.found, result.shards);
      EXPECT_EQ(contents(resumed.data.tier()), expected) << format << " " << samples;
      for (const auto& entry : fs::recursive_directory_iterator(directory.path()))
        EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    }
  }
}

// A byte of a sample in a shard; of pixels, which are not the source's bytes, any.
size_t place_of_a_sample(const Dataset& original, const std::string& shard) {
  for (int64_t i = 0; i < original.size(Split::train); ++i) {
    const std::string bytes = read_sample(original, Split::train, i);
    const size_t place = shard.find(bytes.substr(bytes.size() / 2, 64));
    if (place != shard.npos) return place;
  }
  return shard.size() / 3;
}

TEST_F(Convert, what_does_not_read_as_it_was_written_is_named_and_written_anew) {
  const Dataset& original = files();
  for (const std::string& format : formats()) {
    TemporaryDirectory directory;
    Converted converted(posix_storage(directory.path()));
    EXPECT_EQ(error_of([&] { converted.write(original, format, stop_after(1, "verified")); }),
              "ended here");
    const auto expected = contents(converted.data.tier());
    std::string shard;
    for (const auto& [key, bytes] : expected) {
      if (key.starts_with("train") && !key.ends_with(".json") && !key.ends_with(".csv"))
        shard = key;
    }
    std::string damaged = expected.at(shard);
    damaged[place_of_a_sample(original, damaged)] ^= 1;
    directory.write(shard, damaged);
    std::string said;
    EXPECT_EQ(code_of([&] {
                try {
                  converted.write(original, format);
                } catch (const Error& error) {
                  said = error.what();
                  throw;
                }
              }),
              ExitCode::storage)
        << format;
    EXPECT_THAT(said, testing::HasSubstr("does not read as it was written")) << format;
    EXPECT_THAT(said, testing::ContainsRegex("sample [a-zA-Z_]+/image_[0-9]+")) << format;
    EXPECT_LT(converted.write(original, format).found, converted.result.shards);
    EXPECT_EQ(get(converted.data.tier(), shard), expected.at(shard)) << format;
  }
}

TEST_F(Convert, nothing_that_is_there_is_written_over) {
  const Dataset& original = files();
  Converted converted;
  put(converted.data.tier(), "holiday.jpg", "mine");
  EXPECT_EQ(error_of([&] { converted.write(original, "tar_shards"); }),
            "dataset convert: there is a holiday.jpg already, and nothing is written over: name a "
            "new or empty folder, or remove what is in this one");
  EXPECT_EQ(listing(converted.data.tier()), "holiday.jpg=4");
  converted.folder = "beside";
  converted.write(original, "tar_shards");
  const auto before = contents(converted.data.tier());
  TestDataset other(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const Dataset& split = other.build(kMini, 7);
  const std::vector<std::function<void()>> others{
      [&] { converted.write(split, "tar_shards"); },
      [&] { converted.write(original, "tar_shards", {}, 2 * kShard); },
      [&] { converted.write(original, "packed"); }};
  for (const auto& again : others) {
    EXPECT_THAT(error_of(again), testing::HasSubstr("there is a beside/classes.txt already"));
    EXPECT_EQ(contents(converted.data.tier()), before);
  }
}

TEST_F(Convert, the_same_call_after_its_end_writes_nothing_and_says_that_all_is_there) {
  const Dataset& original = files();
  for (const std::string& format : formats()) {
    Converted converted;
    const ConvertResult first = converted.write(original, format);
    EXPECT_FALSE(first.complete_before) << format;
    const auto before = contents(converted.data.tier());
    const ConvertResult& second = converted.write(original, format);
    EXPECT_TRUE(second.complete_before) << format;
    EXPECT_EQ(second.samples, first.samples) << format;
    EXPECT_EQ(second.found, second.shards) << format;
    EXPECT_EQ(to_yaml(second.dataset), to_yaml(first.dataset)) << format;
    EXPECT_EQ(contents(converted.data.tier()), before) << format;
  }
}

// Remembers what was begun last. The indexes of shards are written by whoever opens them first.
class LastObject final : public Storage {
 public:
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    if (!key.ends_with(kShardIndexEnd)) last_ = key;
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }

  std::string last() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  const std::unique_ptr<Storage> inner_ = make_storage("{type: memory}");
  mutable std::mutex mutex_;
  std::string last_;
};

TEST_F(Convert, the_names_of_the_classes_come_last) {
  const Dataset& original = files();
  for (const std::string format : {"tar_shards", "file_list"}) {
    auto tier = std::make_unique<LastObject>();
    const LastObject& order = *tier;
    Converted converted(std::move(tier));
    converted.write(original, format);
    EXPECT_EQ(order.last(), "classes.txt") << format;
  }
}

TEST_F(Convert, another_conversion_does_not_go_on_with_this_one) {
  const Dataset& original = files();
  Converted converted;
  EXPECT_THROW(converted.write(original, "tar_shards", stop_after(60)), std::runtime_error);
  const auto before = contents(converted.data.tier());
  EXPECT_EQ(
      error_of([&] { converted.write(original, "tar_shards", {}, 2 * kShard); }),
      "dataset convert: convert.json is of a conversion that was not finished, with another "
      "--shard-size: finish it with the arguments of then, name another folder, or remove what is "
      "in this one");
  EXPECT_THAT(error_of([&] { converted.write(original, "image_folder"); }),
              testing::HasSubstr("with another format:"));
  TestDataset other(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const Dataset& split = other.build(kMini, 7);
  EXPECT_THAT(error_of([&] { converted.write(split, "tar_shards"); }),
              testing::HasSubstr("with another data or order of samples:"));
  EXPECT_EQ(contents(converted.data.tier()), before);
  EXPECT_GT(converted.write(original, "tar_shards").found, 0);
}

TEST_F(Convert, the_bytes_do_not_depend_on_the_threads) {
  const Dataset& original = files();
  for (const std::string& format : formats()) {
    std::vector<std::map<std::string, std::string>> written;
    for (const int64_t threads : {1, 8}) {
      Converted converted;
      ConvertOptions options = conversion(format, kShard);
      options.threads = threads;
      converted.write(original, options);
      written.push_back(contents(converted.data.tier()));
    }
    EXPECT_EQ(written[0], written[1]) << format;
  }
}

TEST_F(Convert, samples_are_mixed_by_a_seed) {
  const Dataset& original = files();
  for (const uint64_t seed : {5, 6}) {
    Converted converted;
    ConvertOptions options = conversion("tar_shards", kShard);
    options.plan.shuffle = seed;
    converted.write(original, options);
    const auto mixed = keys(converted.open(), Split::train);
    auto in_order = mixed;
    std::ranges::sort(in_order);
    EXPECT_NE(mixed, in_order);
    EXPECT_EQ(std::ssize(mixed), original.size(Split::train));
    EXPECT_TRUE(std::ranges::is_sorted(keys(converted.open(), Split::test)));
  }
}

TEST_F(Convert, a_format_with_an_order_of_its_own_says_so) {
  std::string note;
  ConvertHooks hooks;
  hooks.note = [&](const std::string& text) { note = text; };
  Converted plain, mixed;
  plain.write(files(), "image_folder", hooks);
  EXPECT_EQ(note, "");
  ConvertOptions options = conversion("image_folder", kShard);
  options.plan.shuffle = 1;
  mixed.write(*source.dataset, options, hooks);
  EXPECT_THAT(note, testing::HasSubstr("has an order of its own"));
  EXPECT_EQ(contents(mixed.data.tier()), contents(plain.data.tier()));
}

TEST_F(Convert, bad_samples_are_treated_alike_by_who_goes_on) {
  // Samples 3 and 30 of each split.
  const auto dataset = [](ErrorPolicy policy, double budget) {
    return FakeDataset(40, {3, 30}, {policy, {budget, false}});
  };
  const FakeDataset bears = dataset(ErrorPolicy::skip, 4);
  Converted whole;
  ASSERT_EQ(whole.write(bears, "tar_shards", {}, 80).left_out.size(), 4u);
  EXPECT_EQ(whole.result.samples, 76);
  EXPECT_EQ(whole.result.left_out[1].key, "sample/30");
  EXPECT_EQ(whole.result.left_out[1].reason, "corrupt");
  for (const auto& [refuses, why] :
       {std::pair(dataset(ErrorPolicy::fail, 0), "repair or remove the file"),
        std::pair(dataset(ErrorPolicy::skip, 3), "more bad samples than")}) {
    Converted stopped;
    EXPECT_THROW(stopped.write(bears, "tar_shards", stop_after(70), 80), std::runtime_error);
    EXPECT_THAT(error_of([&] { stopped.write(refuses, "tar_shards", {}, 80); }),
                testing::HasSubstr(why));
    const ConvertResult& result = stopped.write(bears, "tar_shards", {}, 80);
    EXPECT_GT(result.found, 2);
    EXPECT_EQ(result.left_out.size(), 4u);
    EXPECT_EQ(contents(stopped.data.tier()), contents(whole.data.tier()));
  }
}

TEST_F(Convert, a_request_to_stop_ends_it_with_its_exit_code) {
  const Dataset& original = files();
  Converted converted;
  std::atomic<bool> asked = false;
  ConvertHooks hooks;
  hooks.progress = [&](const std::string&, int64_t done, int64_t) { asked = done >= 50; };
  hooks.stop = [&] { return asked ? ExitCode::sigterm : ExitCode::ok; };
  EXPECT_EQ(code_of([&] { converted.write(original, "tar_shards", hooks); }), ExitCode::sigterm);
  EXPECT_GT(converted.write(original, "tar_shards").found, 0);
}

TEST_F(Convert, without_a_training_sample_there_is_no_data_set) {
  std::set<int64_t> all;
  for (int64_t i = 0; i < 5; ++i) all.insert(i);
  Converted converted;
  EXPECT_EQ(error_of([&] {
              converted.write(FakeDataset(5, all, {ErrorPolicy::skip, {10, false}}), "tar_shards");
            }),
            "dataset convert: no training sample could be read");
}

}  // namespace
}  // namespace stoker
