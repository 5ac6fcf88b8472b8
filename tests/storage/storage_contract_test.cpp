#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <thread>

#include "io/core/error.h"
#include "io/storage/tiers.h"
#include "tests/support/errors.h"
#include "tests/support/registered.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

// What every registered tier promises. A new tier needs one line in this table: the YAML of a
// small, empty instance. {} stands for a new directory.
namespace stoker {
namespace {

const std::map<std::string, std::string> kInstances = {
    {"cached", "{type: cached, inner: {type: posix, root: {}}}"},
    {"direct", "{type: direct, root: {}}"},
    {"emulated", "{type: emulated, profile: optane, inner: {type: posix, root: {}}}"},
    {"memory", "{type: memory}"},
    {"posix", "{type: posix, root: {}}"},
    {"uring", "{type: uring, root: {}, block: 4KiB, queue_depth: 3}"},
};
// Of servers: object/servers_test.py starts these, says where they are in the environment, and runs
// this file for them. {} stands for a new name.
const std::map<std::string, std::string> kRemote = {
    {"http", "{type: http, url: 'http://$STOKER_TEST_NGINX{}', listing: json}"},
    {"s3", "{type: s3, endpoint: '$STOKER_TEST_S3', bucket: contract, prefix: x{}, part: 64KiB}"},
};
// Ways of a tier that differ from its first.
const std::map<std::string, std::string> kVariants = {
    {"emulated_hedged",
     "{type: emulated, profile: optane, read_latency_ms: 1, slow_fraction: 0.3, slow_factor: 4, "
     "hedge: 1ms, inner: {type: posix, root: {}}}"},
    {"posix_tensorflow", "{type: posix, root: {}, read: tensorflow}"},
    {"posix_mmap", "{type: posix, root: {}, read: mmap, advice: dontneed}"},
    {"uring_direct", "{type: uring, root: {}, block: 4KiB, queue_depth: 3, direct: true}"},
};
constexpr const char* kMetered = "metered";  // posix behind a meter, as an experiment has it

// With its server; empty: that is not there.
std::string remote_tier(std::string yaml) {
  const size_t begin = yaml.find('$');
  const size_t end = yaml.find_first_of("'{", begin);
  const char* const value = std::getenv(yaml.substr(begin + 1, end - begin - 1).c_str());
  return value == nullptr ? "" : yaml.replace(begin, end - begin, value);
}

// A web server's objects are written as files. Each read is of what is there now.
class Published final : public Storage {
 public:
  Published(std::unique_ptr<Storage> served, std::unique_ptr<Storage> files)
      : served_(std::move(served)), files_(std::move(files)) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return served_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    served_->list(key);
    served_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return files_->create(key);
  }
  void remove(const std::string& key) override { files_->remove(key); }

 private:
  const std::unique_ptr<Storage> served_;
  const std::unique_ptr<Storage> files_;
};

std::vector<std::string> tiers() {
  std::vector<std::string> names = registered_types<Storage>();
  std::erase(names, "full");  // cached_test's
  std::erase_if(names, [](const std::string& name) {
    return kRemote.contains(name) && remote_tier(kRemote.at(name)).empty();
  });
  names.emplace_back(kMetered);
  for (const auto& [name, yaml] : kVariants) names.push_back(name);
  return names;
}

std::string in_directory(std::string yaml, const std::string& directory) {
  const size_t at = yaml.find("{}");
  return at == std::string::npos ? yaml : yaml.replace(at, 2, directory);
}

class StorageContract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const bool behind_meter = GetParam() == kMetered;
    const std::string name = behind_meter ? "posix" : GetParam();
    if (kRemote.contains(name)) return make_remote(name);
    const auto& table = kVariants.contains(name) ? kVariants : kInstances;
    const auto instance = table.find(name);
    ASSERT_NE(instance, table.end())
        << "add a line for storage '" << name << "' to the table in " << __FILE__;
    storage_ = make_storage(in_directory(instance->second, directory_.path()));
    if (behind_meter) storage_ = metered(std::move(storage_), meter_);
  }

  void make_remote(const std::string& name) {
    storage_ = make_storage(in_directory(remote_tier(kRemote.at(name)), directory_.path()));
    if (name == "http") {
      storage_ = std::make_unique<Published>(std::move(storage_), posix_storage(directory_.path()));
    }
  }

  TemporaryDirectory directory_;
  Tracer tracer_;
  TierMeter meter_{"tier", "posix", false, tracer_};
  std::unique_ptr<Storage> storage_;
};

StorageInfo info_of(const std::string& yaml) {
  return parse_component<Storage>(parse_yaml(yaml, "test.yaml")).info();
}

TEST(StorageInfos, each_tier_says_whether_it_is_emulated_and_keeps_copies) {
  for (const auto& [name, yaml] : kInstances) {
    const StorageInfo info = info_of(in_directory(yaml, "/"));
    EXPECT_EQ(info.emulated, name == "emulated") << name;
    EXPECT_EQ(info.keeps_copies, name == "cached") << name;
    EXPECT_EQ(info.in_memory, name == "memory") << name;
    EXPECT_EQ(info.read_mb_per_s.has_value(), info.emulated) << name;
  }
}

TEST(StorageInfos, each_tier_says_in_which_folders_its_files_lie) {
  using Folders = std::vector<std::string>;
  EXPECT_EQ(info_of("{type: memory}").folders, Folders{});
  for (const std::string type : {"posix", "direct", "uring"}) {
    const std::string in = "{type: " + type + ", root: /in}";
    const std::string around = "{type: emulated, profile: hdd, inner: " + in + "}";
    EXPECT_EQ(info_of(in).folders, Folders{"/in"}) << type;
    EXPECT_EQ(
        info_of("{type: cached, inner: " + around + ", in: {type: posix, root: /copies}}").folders,
        (Folders{"/in", "/copies"}))
        << type;
  }
}

TEST(StorageInfos, a_tier_around_an_emulated_one_or_with_copies_on_one_says_so) {
  const std::string optane = "{type: emulated, profile: optane, inner: {type: memory}}";
  const StorageInfo around = info_of("{type: cached, inner: " + optane + "}");
  EXPECT_TRUE(around.emulated && around.keeps_copies);
  EXPECT_EQ(around.read_mb_per_s, 1603);
  EXPECT_DOUBLE_EQ(*around.write_mb_per_s, 511.8);
  EXPECT_TRUE(info_of("{type: cached, inner: {type: memory}, in: " + optane + "}").emulated);
  const StorageInfo slowed =
      info_of("{type: emulated, profile: hdd, write_mb_per_s: 7, inner: " + optane + "}");
  EXPECT_EQ(slowed.read_mb_per_s, 163);
  EXPECT_EQ(slowed.write_mb_per_s, 7);
}

INSTANTIATE_TEST_SUITE_P(all, StorageContract, testing::ValuesIn(tiers()),
                         [](const auto& info) { return info.param; });

TEST_P(StorageContract, a_new_tier_is_empty) { EXPECT_EQ(listing(*storage_), ""); }

TEST_P(StorageContract, what_was_committed_is_read_back) {
  put(*storage_, "a/b/c.bin", std::string("\0\xff text", 7));
  EXPECT_EQ(get(*storage_, "a/b/c.bin"), std::string("\0\xff text", 7));
  put(*storage_, "empty", "");
  EXPECT_EQ(get(*storage_, "empty"), "");
}

TEST_P(StorageContract, a_listing_is_sorted_bytewise) {
  for (const char* key : {"b", "a/b", "a.c", "a/\xc3\xa4", "B", "a0"}) put(*storage_, key, key);
  EXPECT_EQ(listing(*storage_), "B=1 a.c=3 a/b=3 a/\xc3\xa4=4 a0=2 b=1");
}

TEST_P(StorageContract, a_listing_has_the_keys_that_start_with_the_prefix) {
  for (const char* key : {"train/cat/1", "train/cat/2", "train/cow/1", "train2/x", "test/cat/1"}) {
    put(*storage_, key, "");
  }
  EXPECT_EQ(listing(*storage_, "train/"), "train/cat/1=0 train/cat/2=0 train/cow/1=0");
  EXPECT_EQ(listing(*storage_, "train/ca"), "train/cat/1=0 train/cat/2=0");
  EXPECT_EQ(listing(*storage_, "train/cat/2"), "train/cat/2=0");
  EXPECT_EQ(listing(*storage_, "tr"), "train/cat/1=0 train/cat/2=0 train/cow/1=0 train2/x=0");
  EXPECT_EQ(listing(*storage_, "none"), "");
  EXPECT_EQ(listing(*storage_, "none/none/"), "");
  EXPECT_EQ(listing(*storage_, "train/cat/1/none"), "");
}

TEST_P(StorageContract, a_range_is_cut_at_the_end_of_the_object) {
  put(*storage_, "digits", "0123456789");
  EXPECT_EQ(get(*storage_, "digits", {2, 3}), "234");
  EXPECT_EQ(get(*storage_, "digits", {0, 10}), "0123456789");
  EXPECT_EQ(get(*storage_, "digits", {8, 100}), "89");
  EXPECT_EQ(get(*storage_, "digits", {8}), "89");
  EXPECT_EQ(get(*storage_, "digits", {10, 1}), "");
  EXPECT_EQ(get(*storage_, "digits", {11}), "");
  EXPECT_EQ(get(*storage_, "digits", {UINT64_MAX, UINT64_MAX}), "");
  EXPECT_EQ(get(*storage_, "digits", {3, 0}), "");
}

TEST_P(StorageContract, a_buffer_is_reused) {
  put(*storage_, "long", "0123456789");
  put(*storage_, "short", "abc");
  Buffer buffer;
  storage_->read("long", buffer);
  const uint8_t* memory = buffer.data();
  storage_->read("short", buffer);
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_EQ(std::string(buffer.bytes().begin(), buffer.bytes().end()), "abc");
}

TEST_P(StorageContract, a_missing_object_is_named) {
  put(*storage_, "a/b", "file");
  for (const std::string key : {"a/none.jpg", "none/none.jpg"}) {
    try {
      get(*storage_, key);
      FAIL() << "read " << key;
    } catch (const IoError& error) {
      EXPECT_EQ(error.errno_value(), ENOENT);
      EXPECT_EQ(error.code(), ExitCode::environment);
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("read ")) << message;
      EXPECT_TRUE(message.ends_with(key + ": No such file or directory")) << message;
    }
  }
}

TEST_P(StorageContract, nothing_is_visible_before_commit) {
  const std::unique_ptr<ObjectWriter> writer = storage_->create("a/b/c");
  const std::string half = "half";
  writer->append({reinterpret_cast<const uint8_t*>(half.data()), half.size()});
  EXPECT_EQ(listing(*storage_), "");
  EXPECT_THROW(get(*storage_, "a/b/c"), IoError);
  writer->append({reinterpret_cast<const uint8_t*>(half.data()), half.size()});
  writer->commit();
  EXPECT_EQ(listing(*storage_), "a/b/c=8");
  EXPECT_EQ(get(*storage_, "a/b/c"), "halfhalf");
}

TEST_P(StorageContract, a_writer_without_commit_leaves_no_trace) {
  {
    const std::unique_ptr<ObjectWriter> writer = storage_->create("a/b/c");
    writer->append(std::vector<uint8_t>(100'000));
  }
  EXPECT_EQ(listing(*storage_), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_P(StorageContract, a_commit_replaces_an_older_object) {
  put(*storage_, "a/latest", "the older one");
  put(*storage_, "a/latest", "new");
  EXPECT_EQ(get(*storage_, "a/latest"), "new");
  EXPECT_EQ(listing(*storage_), "a/latest=3");
}

TEST_P(StorageContract, a_removed_object_is_gone_and_removing_an_absent_one_is_fine) {
  put(*storage_, "a/b/c", "1");
  put(*storage_, "a/d", "2");
  storage_->remove("a/b/c");
  storage_->remove("a/b/c");
  storage_->remove("none/none");
  storage_->remove("a/d/below-an-object");
  EXPECT_EQ(listing(*storage_), "a/d=1");
  storage_->remove("a/d");
  EXPECT_EQ(listing(*storage_), "");
}

TEST_P(StorageContract, a_key_stays_inside_its_tier) {
  put(*storage_, "a/b", "file");
  for (const std::string key : {"", "/etc/passwd", "../x", "a/../../x", "a/..", "./a", "a//b", "a/",
                                "a/.tmp-1", "..", "."}) {
    const std::string message =
        "key '" + key + "' must be a relative path inside its tier such as a/b.jpg";
    EXPECT_EQ(error_of([&] { get(*storage_, key); }), message);
    EXPECT_EQ(error_of([&] { storage_->create(key); }), message);
    EXPECT_EQ(error_of([&] { storage_->remove(key); }), message);
  }
  EXPECT_THROW(get(*storage_, std::string("a\0b", 3)), IoError);
  put(*storage_, "a/..b", "two dots in a name are no way out");
  // nginx lists no name that begins with a dot.
  EXPECT_EQ(listing(*storage_), GetParam() == "http" ? "a/b=4" : "a/..b=33 a/b=4");
}

TEST_P(StorageContract, readers_see_whole_objects_while_writers_replace_them) {
  const std::string one(50'000, '1');
  const std::string two(70'000, '2');
  put(*storage_, "x/shared", one);
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0;
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        std::string seen;
        try {
          seen = get(*storage_, "x/shared");
        } catch (const IoError& error) {
          // A web server's files are replaced by others than the tier.
          if (GetParam() != "http" || error.errno_value() != ESTALE) throw;
          continue;
        }
        if (seen != one && seen != two) ++torn;
        if (listing(*storage_, "x/sh").empty()) ++torn;
      }
    });
  }
  for (int i = 0; i < 50; ++i) put(*storage_, "x/shared", i % 2 == 0 ? two : one);
  stop = true;
  readers.clear();
  EXPECT_EQ(torn, 0);
}

TEST_P(StorageContract, writers_and_removers_of_one_directory_do_not_disturb_each_other) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, key = "same/place/" + std::to_string(i)] {
      for (int round = 0; round < 25; ++round) {
        put(*storage_, key, "x");
        EXPECT_EQ(get(*storage_, key), "x");
        storage_->remove(key);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(listing(*storage_), "");
}

}  // namespace
}  // namespace stoker
