#include "io/storage/cached/cached.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <thread>

#include "io/core/error.h"
#include "io/metrics/hub.h"
#include "io/storage/cached/plan_file.h"
#include "io/storage/tiers.h"
#include "tests/support/errors.h"
#include "tests/support/mounted.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

// Memory that is full after `room` bytes.
class FullStorage final : public Storage {
 public:
  struct Options {
    int64_t room = 0;
    template <class V>
    void visit(V& v) {
      v("room", room, "bytes");
    }
  };
  FullStorage(const Options& options, const Inputs&) : left_(options.room) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return memory_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    memory_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    struct Writer final : ObjectWriter {
      Writer(FullStorage& s, std::unique_ptr<ObjectWriter> i) : storage(s), inner(std::move(i)) {}
      void append(Bytes bytes) override {
        if ((storage.left_ -= std::ssize(bytes)) < 0) throw_errno("write", "object", ENOSPC);
        inner->append(bytes);
      }
      void commit() override { inner->commit(); }
      FullStorage& storage;
      std::unique_ptr<ObjectWriter> inner;
    };
    return std::make_unique<Writer>(*this, memory_->create(key));
  }
  void remove(const std::string& key) override { memory_->remove(key); }

 private:
  std::unique_ptr<Storage> memory_ = make_storage("{type: memory}");
  std::atomic<int64_t> left_;
};

STOKER_REGISTER(Storage, "full", FullStorage);

struct Cached : testing::Test {
  // A cache before files "0" to "<count - 1>" of 100 bytes below slow/.
  void open(const std::string& options, int count = 10) {
    const auto files = posix_storage(slow());
    for (int i = 0; i < count; ++i) put(*files, std::to_string(i), content(i));
    reopen(options);
  }
  // As another process would.
  void reopen(const std::string& options) {
    tier_.reset();
    hub_ = std::make_unique<Hub>();
    const Node node = parse_yaml(
        "{type: cached, inner: {type: posix, root: " + slow() + "}, " + options + "}", "t.yaml");
    tier_ = open_tier(Registry<Storage>::global().parse(Section(node, "", "data", nullptr)),
                      {"data",
                       [this](const std::string& text) {
                         const std::lock_guard lock(mutex_);
                         remarks_.push_back(text);
                       },
                       hub_.get()});
  }

  std::string plan_path() const { return directory_ / "plan.json"; }
  void plan(const std::vector<int>& files) const {
    StagingPlan plan;
    for (const int i : files) plan.objects.push_back({std::to_string(i), 100});
    plan.bytes = 100 * files.size();
    directory_.write("plan.json", plan_json(plan, {}));
  }

  static std::string content(int i) { return std::string(100, static_cast<char>('a' + i)); }
  std::string slow() const { return directory_ / "slow"; }
  std::string fast() const { return directory_ / "fast"; }
  std::string on_files() const { return "in: {type: posix, root: " + fast() + "}"; }

  void read_all(int count = 10) const {
    for (int i = 0; i < count; ++i) EXPECT_EQ(get(*tier_, std::to_string(i)), content(i));
  }
  TierMeter::State state(const std::string& name) const {
    const auto tiers = hub_->tiers();
    return *std::ranges::find(tiers, name, &TierMeter::State::name);
  }
  int64_t reads(const std::string& name) const {
    return state(name).ops[static_cast<size_t>(TierOp::read)].count;
  }
  // "hits misses bytes"
  std::string cache() const {
    const auto cache = *state("data").cache;
    return std::to_string(cache.hits) + " " + std::to_string(cache.misses) + " " +
           std::to_string(cache.bytes);
  }
  void wait_for_bytes(uint64_t bytes) const {
    while (state("data").cache->bytes < bytes) std::this_thread::yield();
  }

  TemporaryDirectory directory_;
  std::mutex mutex_;
  std::vector<std::string> remarks_;
  std::unique_ptr<Hub> hub_;
  std::unique_ptr<Storage> tier_;
};

TEST_F(Cached, the_second_epoch_reads_copies) {
  open("limit: 1MiB");
  read_all();
  EXPECT_EQ(cache(), "0 10 1000");
  read_all();
  EXPECT_EQ(cache(), "10 10 1000");
  EXPECT_EQ(reads("data.inner"), 10);
  EXPECT_EQ(reads("data.in"), 10);
  EXPECT_EQ(state("data").cache->limit, 1u << 20);
  EXPECT_TRUE(remarks_.empty());
}

TEST_F(Cached, a_full_cache_keeps_what_it_has_whatever_the_order) {
  open("limit: 400");
  std::vector<int> order(10);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (int epoch = 0; epoch < 20; ++epoch) {
    std::ranges::shuffle(order, random);
    for (const int i : order) EXPECT_EQ(get(*tier_, std::to_string(i)), content(i));
    EXPECT_LE(state("data").cache->bytes, 400u);
  }
  EXPECT_EQ(cache(), std::to_string(19 * 4) + " " + std::to_string(10 + 19 * 6) + " 400");
}

TEST_F(Cached, only_objects_below_the_threshold_are_copied) {
  open("below: 101");
  put(*tier_, "large", std::string(101, 'x'));
  get(*tier_, "large");
  get(*tier_, "3");
  EXPECT_EQ(cache(), "0 2 100");
}

TEST_F(Cached, a_range_of_a_copy_is_a_hit_and_one_of_the_original_makes_no_copy) {
  open("limit: 1MiB");
  EXPECT_EQ(get(*tier_, "1", {10, 5}), "bbbbb");
  EXPECT_EQ(get(*tier_, "1", {0, 5}), "bbbbb");
  EXPECT_EQ(get(*tier_, "1", {0, 100}), content(1));  // perhaps not all of it
  EXPECT_EQ(cache(), "0 3 0");
  EXPECT_EQ(get(*tier_, "1", {0, 101}), content(1));
  EXPECT_EQ(cache(), "0 4 100");
  EXPECT_EQ(get(*tier_, "1", {98, 5}), "bb");
  EXPECT_EQ(get(*tier_, "1", {200, 5}), "");
  EXPECT_EQ(cache(), "2 4 100");
}

TEST_F(Cached, threads_read_right_and_copy_each_object_once) {
  open("limit: 1MiB", 26);
  std::vector<std::jthread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([this] {
      for (int epoch = 0; epoch < 3; ++epoch) read_all(26);
    });
  }
  readers.clear();
  EXPECT_EQ(state("data").cache->bytes, 2600u);
  EXPECT_EQ(state("data.in").ops[static_cast<size_t>(TierOp::create)].count, 26);
}

TEST_F(Cached, what_an_earlier_process_staged_is_used_and_counted) {
  open(on_files() + ", limit: 500");
  read_all();
  EXPECT_EQ(cache(), "0 10 500");
  reopen(on_files() + ", limit: 700");
  read_all();
  EXPECT_EQ(cache(), "5 5 700");
  reopen(on_files() + ", limit: 100");  // less than what is there: it stays and is used
  read_all();
  EXPECT_EQ(cache(), "7 3 700");
}

TEST_F(Cached, what_is_no_copy_is_never_touched) {
  const auto fast_files = posix_storage(fast());
  put(*fast_files, "3", "my own notes");
  put(*fast_files, "other/file", "mine");
  open(on_files());
  read_all();
  read_all();
  put(*tier_, "3", content(3));
  tier_->remove("3");
  EXPECT_EQ(get(*fast_files, "3"), "my own notes");
  EXPECT_EQ(get(*fast_files, "other/file"), "mine");
  EXPECT_EQ(cache(), "9 11 900");
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_NE(remarks_[0].find("2 other objects (such as '3')"), std::string::npos) << remarks_[0];
}

TEST_F(Cached, a_changed_object_is_read_anew_also_by_the_next_process) {
  open(on_files());
  read_all();
  put(*tier_, "1", std::string(100, '*'));  // the size of the old one
  EXPECT_EQ(get(*tier_, "1"), std::string(100, '*'));
  tier_->remove("2");
  EXPECT_THROW(get(*tier_, "2"), IoError);
  EXPECT_EQ(listing(*posix_storage(fast()), "2"), "");
  reopen(on_files());
  EXPECT_EQ(get(*tier_, "1"), std::string(100, '*'));
  EXPECT_THROW(get(*tier_, "2"), IoError);
}

TEST_F(Cached, readers_never_see_an_old_object_after_its_replacement) {
  open("limit: 1MiB");
  for (int round = 0; round < 200; ++round) {
    const std::string text(100, static_cast<char>('a' + round % 26));
    std::jthread reader([this] { get(*tier_, "1"); });
    put(*tier_, "1", text);
    EXPECT_EQ(get(*tier_, "1"), text);
    reader.join();
    EXPECT_EQ(get(*tier_, "1"), text);
  }
}

TEST_F(Cached, a_full_tier_for_copies_is_a_condition_and_no_error) {
  open("in: {type: full, room: 350}");
  for (int epoch = 0; epoch < 3; ++epoch) read_all();
  EXPECT_EQ(cache(), "6 24 300");
  ASSERT_EQ(remarks_.size(), 1u);
  EXPECT_NE(remarks_[0].find("no more copies are made: write object: No space left"),
            std::string::npos)
      << remarks_[0];
  EXPECT_EQ(state("data").conditions.size(), 1u);
}

TEST_F(Cached, a_full_disk_is_a_condition_and_no_error) {
  STOKER_NEEDS_MOUNTS();
  open("limit: 1MiB");
  tier_.reset();
  const auto files = posix_storage(slow());
  for (int i = 0; i < 10; ++i) put(*files, "large" + std::to_string(i), std::string(50'000, 'x'));
  std::filesystem::create_directory(fast());
  const auto result = run_mounted(fast(), "tmpfs", "size=256k", [&] {
    reopen(on_files());
    bool right = true;
    for (int i = 0; i < 10; ++i) right &= get(*tier_, "large" + std::to_string(i)).size() == 50'000;
    for (int i = 0; i < 10; ++i) right &= get(*tier_, "large" + std::to_string(i)).size() == 50'000;
    return std::string(right ? "right, " : "wrong, ") + std::to_string(remarks_.size()) +
           (state("data").cache->hits > 0 ? " hits" : " none") +
           (state("data").cache->bytes < 256 << 10 ? " bounded" : " too many");
  });
  EXPECT_EQ(result, "right, 1 hits bounded");
}

TEST_F(Cached, a_tier_for_copies_that_cannot_be_used_at_all_is_a_condition) {
  directory_.write("file", "no directory");
  open("in: {type: posix, root: " + directory_ / "file" + "/below}");
  read_all();
  read_all();
  EXPECT_EQ(cache(), "0 20 0");
  EXPECT_EQ(remarks_.size(), 1u);
}

TEST_F(Cached, a_copy_that_is_lost_or_cut_is_read_from_the_original) {
  open(on_files());
  read_all();
  std::filesystem::remove(fast() + "/1");
  std::filesystem::resize_file(fast() + "/2", 50);
  read_all();
  EXPECT_EQ(cache(), "8 12 1000");
  read_all();
  EXPECT_EQ(cache(), "16 14 1000");
  EXPECT_EQ(state("data").conditions.size(), 2u);
}

TEST_F(Cached, ahead_a_thread_stages_by_the_rule_while_others_read) {
  open("fill: ahead, order: smallest, limit: 1150, below: 101");
  put(*posix_storage(slow()), "large", std::string(150, 'x'));
  put(*posix_storage(slow()), "tiny", "x");
  get(*tier_, "large");
  wait_for_bytes(1001);
  read_all();
  EXPECT_EQ(get(*tier_, "tiny"), "x");
  get(*tier_, "large");
  EXPECT_EQ(cache(), "11 2 1001");
}

TEST_F(Cached, most_read_waits_until_counts_mean_something) {
  open("fill: ahead, order: most_read, limit: 200");
  for (int i = 0; i < 4; ++i) get(*tier_, "7");
  for (int i = 0; i < 3; ++i) get(*tier_, "4");
  EXPECT_EQ(state("data").cache->bytes, 0u);
  for (int i = 0; i < 3; ++i) get(*tier_, std::to_string(i));
  wait_for_bytes(200);
  const int64_t before = reads("data.inner");
  get(*tier_, "7");
  EXPECT_EQ(reads("data.inner"), before);
  get(*tier_, "0");
  EXPECT_EQ(reads("data.inner"), before + 1);
}

TEST_F(Cached, a_plan_says_what_is_copied_whoever_copies) {
  for (const char* fill : {"read", "both", "ahead"}) {
    std::filesystem::remove_all(fast());
    plan({7, 2, 4});
    open(std::string("order: plan, plan: ") + plan_path() + ", fill: " + fill + ", " + on_files());
    read_all();
    wait_for_bytes(300);  // which counts what is still being copied
    Tally::Totals before, after;
    do {
      before = state("data.in").ops[static_cast<size_t>(TierOp::read)];
      read_all();
      after = state("data.in").ops[static_cast<size_t>(TierOp::read)];
    } while (after.count - before.count < 3);
    EXPECT_EQ(listing(*posix_storage(fast())), "2=100 4=100 7=100") << fill;
    EXPECT_EQ(after.count - before.count, 3) << fill;
    EXPECT_EQ(after.bytes - before.bytes, 300) << fill;
  }
}

TEST_F(Cached, a_thread_copies_in_the_order_of_the_plan) {
  plan({7, 2, 4});
  open("in: {type: full, room: 250}, order: plan, fill: ahead, plan: " + plan_path());
  get(*tier_, "0");
  wait_for_bytes(200);
  while (state("data").conditions.empty()) std::this_thread::yield();
  for (const char* key : {"7", "2", "4"}) get(*tier_, key);
  EXPECT_EQ(cache(), "2 2 200");  // 4 was the last
}

TEST_F(Cached, readers_and_the_thread_together_copy_each_object_once) {
  plan({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  open("order: plan, fill: both, plan: " + plan_path());
  read_all();
  wait_for_bytes(1000);
  int64_t before = 0;
  do {  // those bytes count what is still being copied
    before = reads("data.inner");
    read_all();
  } while (reads("data.inner") != before);
  EXPECT_EQ(state("data.in").ops[static_cast<size_t>(TierOp::create)].count, 10);
}

TEST_F(Cached, the_next_process_goes_on_by_the_plan) {
  plan({7, 2, 4});
  const std::string options = "order: plan, plan: " + plan_path() + ", " + on_files();
  open(options);
  get(*tier_, "2");
  reopen(options);
  read_all();
  EXPECT_EQ(cache(), "1 9 300");
}

TEST_F(Cached, a_stale_plan_is_an_error_before_anything_is_read) {
  open("limit: 1MiB");
  plan({7, 2, 4});
  const auto refused = [this] {
    return error_of([this] { reopen("order: plan, plan: " + plan_path()); });
  };
  put(*posix_storage(slow()), "2", "changed");
  EXPECT_NE(refused().find("'2' has 7 bytes, and by this plan 100"), std::string::npos);
  std::filesystem::remove(slow() + "/7");
  EXPECT_NE(refused().find("the tier has no object '7'"), std::string::npos);
}

TEST_F(Cached, a_thread_that_stages_is_stopped_with_the_tier) {
  open("fill: ahead, order: most_read", 3);
  get(*tier_, "0");
  tier_.reset();  // it waits for reads that never come
  EXPECT_EQ(hub_->tiers().size(), 3u);
}

}  // namespace
}  // namespace stoker
