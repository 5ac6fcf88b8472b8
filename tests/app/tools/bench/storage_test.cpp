#include "app/tools/bench/storage/storage.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/metrics/record/run_record.h"
#include "io/storage/file_tree.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/file_layers.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr uint64_t kPage = 4096;

// Remembers which pieces of files were read and written.
class Record final : public FileLayer {
 public:
  int64_t call(const FileCall& call, const Next& next) override {
    if (call.op == FileCall::Op::read || call.op == FileCall::Op::write) {
      const std::lock_guard lock(mutex_);
      pieces_[call.path].push_back(call.offset);
    }
    if (call.op == FileCall::Op::sync) ++syncs_;
    return next(call);
  }
  std::map<std::string, std::vector<uint64_t>> take() { return std::exchange(pieces_, {}); }
  int syncs() const { return syncs_; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<uint64_t>> pieces_;
  std::atomic<int> syncs_ = 0;
};

// A posix tier whose files lie behind a layer.
class Layered final : public Storage, public KeepsFiles {
 public:
  Layered(const std::string& root, std::shared_ptr<FileLayer> layer)
      : inner_(posix_storage(root)), files_(files_of(*inner_)->behind(std::move(layer))) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }
  const FileTree* files() const override { return &files_; }

 private:
  std::unique_ptr<Storage> inner_;
  FileTree files_;
};

bool never() { return false; }

struct StorageBenchTest : testing::Test {
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  TemporaryDirectory root;
  std::shared_ptr<Record> record = std::make_shared<Record>();
  Layered tier{root.path(), record};
  StorageWorkload workload{.block_bytes = 64 * kPage, .transfer_bytes = kPage, .threads = 3};
};

TEST_F(StorageBenchTest, every_thread_moves_each_of_its_transfers_once) {
  for (const bool write : {false, true}) {
    for (const bool shared : {false, true}) {
      for (const bool random : {false, true}) {
        workload.write = write;
        workload.shared = shared;
        workload.random = random;
        StorageBench bench(tier, never);
        bench.prepare(workload);
        record->take();
        const StorageRound round = bench.run(workload, 7);
        EXPECT_EQ(round.transfers, 3 * 64);
        EXPECT_EQ(round.bytes, 3 * 64 * kPage);
        EXPECT_LE(round.first_done_bytes, round.bytes);
        EXPECT_GE(round.first_done_bytes, workload.block_bytes);
        EXPECT_LE(round.first_done_s, round.seconds);
        EXPECT_LE(round.p50_s, round.p99_s);
        const auto pieces = record->take();
        EXPECT_EQ(pieces.size(), shared ? 1u : 3u);
        for (const auto& [path, offsets] : pieces) {
          const uint64_t expected = shared ? 3 * 64 : 64;
          EXPECT_EQ(std::set(offsets.begin(), offsets.end()).size(), expected);
          EXPECT_EQ(offsets.size(), expected);
          EXPECT_EQ(std::ranges::max(offsets), (expected - 1) * kPage);
          const bool mixed = shared || random;  // threads of a shared file come in any order
          EXPECT_TRUE(mixed || std::ranges::is_sorted(offsets));
          EXPECT_FALSE(random && std::ranges::is_sorted(offsets));
        }
      }
    }
  }
}

TEST_F(StorageBenchTest, the_order_of_a_round_is_its_own) {
  workload.random = true;
  StorageBench bench(tier, never);
  bench.prepare(workload);
  record->take();
  const auto order_of = [&](uint64_t seed) {
    bench.run(workload, seed);
    return record->take();
  };
  const auto first = order_of(1);
  EXPECT_NE(first, order_of(2));
  EXPECT_EQ(first, order_of(1));
}

TEST_F(StorageBenchTest, files_are_synced_where_that_was_asked_for) {
  workload.write = true;
  StorageBench bench(tier, never);
  bench.run(workload, 0);
  EXPECT_EQ(record->syncs(), 0);
  workload.sync = true;
  bench.run(workload, 0);
  EXPECT_EQ(record->syncs(), 3);
}

TEST_F(StorageBenchTest, nothing_is_left_behind) {
  root.write("of/the/user.txt", "x");
  {
    StorageBench bench(tier, never);
    bench.prepare(workload);
    bench.run(workload, 0);
    bench.metadata(5);
    workload.write = true;
    bench.run(workload, 0);
    EXPECT_GT(left().size(), 3u);
  }
  EXPECT_EQ(left().size(), 3u);
}

TEST_F(StorageBenchTest, a_failure_of_one_thread_ends_the_round_and_leaves_nothing) {
  const auto fault = std::make_shared<FaultLayer>(
      Fault{.op = FileCall::Op::read, .path = "read-1", .skip = 5, .error = EIO});
  Layered failing(root.path(), fault);
  {
    StorageBench bench(failing, never);
    bench.prepare(workload);
    const std::string message = error_of([&] { bench.run(workload, 0); });
    EXPECT_TRUE(message.ends_with("read-1: Input/output error")) << message;
  }
  EXPECT_TRUE(left().empty());
}

TEST_F(StorageBenchTest, a_stop_ends_a_round_early) {
  std::atomic<int> asked = 0;
  StorageBench bench(tier, [&] { return ++asked > 40; });
  workload.write = true;
  const StorageRound round = bench.run(workload, 0);
  EXPECT_LT(round.transfers, 3 * 64);
}

TEST_F(StorageBenchTest, a_cold_round_is_cold_or_does_not_count) {
  workload.cold = true;
  StorageBench bench(tier, never);
  bench.prepare(workload);
  for (int round = 0; round < 2; ++round) {
    const StorageRound found = bench.run(workload, 0);
    ASSERT_TRUE(found.cached);
    EXPECT_EQ(found.counts, is_cold(*found.cached));
  }
}

TEST_F(StorageBenchTest, a_round_is_as_cold_as_any_other_measurement) {
  workload = {.shared = true, .cold = true, .block_bytes = 400 * kPage, .transfer_bytes = kPage};
  StorageBench bench(tier, never);
  bench.prepare(workload);
  const auto files = std::filesystem::recursive_directory_iterator(root.path());
  const auto file = std::find_if(begin(files), end(files), [](const auto& each) {
    return each.is_regular_file() && each.file_size() == 400 * kPage;
  });
  ASSERT_NE(file, end(files));
  // The kernel keeps pages that somebody has mapped: 8 of 400.
  const FileDescriptor opened = open_file("read", file->path(), O_RDONLY);
  void* mapped = ::mmap(nullptr, 8 * kPage, PROT_READ, MAP_SHARED | MAP_POPULATE, opened.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const StorageRound found = bench.run(workload, 0);
  ::munmap(mapped, 8 * kPage);
  ASSERT_TRUE(found.cached);
  EXPECT_GT(*found.cached, 0.01);
  EXPECT_EQ(found.counts, is_cold(*found.cached));
}

// A device that gets slower with threads: no figures of an emulated tier say so.
class Crowded final : public FileLayer {
 public:
  int64_t call(const FileCall& call, const Next& next) override {
    if (call.op != FileCall::Op::read && call.op != FileCall::Op::write) return next(call);
    const int64_t others = inside_++;
    const auto wait = std::chrono::microseconds(500) * (1 + 20 * others);
    std::this_thread::sleep_for(wait);
    const int64_t result = next(call);
    --inside_;
    return result;
  }

 private:
  std::atomic<int64_t> inside_ = 0;
};

// "worst 114.7 %" stood there without a word.
TEST(StorageFit, says_that_it_does_not_fit_and_why) {
  StorageFit fit;
  fit.worst = 0.1;
  EXPECT_TRUE(fit.fits());
  const TemporaryDirectory root;
  Layered tier{root.path(), std::make_shared<Crowded>()};
  StorageBench bench(tier, never);
  const StorageWorkload workload{.block_bytes = 8 * kPage, .transfer_bytes = kPage};
  const StorageFit crowded = fit_storage(bench, workload, {1, 8}, 2);
  ASSERT_FALSE(crowded.fits()) << crowded.worst;
  EXPECT_THAT(crowded.why, testing::HasSubstr("times as fast by the model as measured"));
  EXPECT_THAT(crowded.why, testing::HasSubstr("; "));
}

TEST(StorageBenchOfTmpfs, is_never_cold) {
  ASSERT_TRUE(std::filesystem::exists("/dev/shm"));
  const std::string root = "/dev/shm/stoker-bench-test-" + std::to_string(::getpid());
  {
    const auto tier = posix_storage(root);
    StorageBench bench(*tier, never);
    const StorageWorkload workload{.cold = true, .block_bytes = kPage, .transfer_bytes = kPage};
    bench.prepare(workload);
    const StorageRound round = bench.run(workload, 0);
    EXPECT_FALSE(round.counts);
    EXPECT_EQ(round.cached, 1.0);
    EXPECT_THROW(fit_storage(bench, workload, {1}, 1), Error);
  }
  std::filesystem::remove_all(root);
}

TEST(StorageBenchOfMemory, moves_objects) {
  const auto tier = make_storage("{type: memory}");
  {
    StorageBench bench(*tier, never);
    EXPECT_FALSE(bench.has_files());
    StorageWorkload workload{
        .objects = true, .block_bytes = 8 * kPage, .transfer_bytes = kPage, .threads = 2};
    bench.prepare(workload);
    EXPECT_EQ(bench.run(workload, 0).bytes, 16 * kPage);
    workload.write = true;
    EXPECT_EQ(bench.run(workload, 0).bytes, 16 * kPage);
    workload.objects = false;
    EXPECT_EQ(error_of([&] { bench.prepare(workload); }), "this tier has no files: give --objects");
  }
  EXPECT_EQ(listing(*tier), "");
}

// Another process is ended before it can clean up.
void leave_by_killed_process(Storage& tier) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto* const folder = new BenchFolder(tier, bench_folder_name());
    put(tier, folder->path() + "/deep/left", "x");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(BenchFolders, of_killed_processes_are_removed_by_the_next_and_those_of_others_are_not) {
  TemporaryDirectory root;
  const auto files = posix_storage(root.path());
  CountingStorage objects(posix_storage(root.path()));
  for (Storage* const tier : std::initializer_list<Storage*>{files.get(), &objects}) {
    put(*tier, ".stoker-benchmark", "of somebody else");
    leave_by_killed_process(*tier);
    EXPECT_NE(listing(*tier).find("/deep/left=1"), std::string::npos);
    const BenchFolder alive(*tier, bench_folder_name());
    put(*tier, alive.path() + "/mine", "x");
    EXPECT_EQ(listing(*tier).find("/deep/left=1"), std::string::npos) << listing(*tier);
    { const BenchFolder next(*tier, bench_folder_name()); }
    EXPECT_NE(listing(*tier).find(alive.path() + "/mine=1"), std::string::npos);
  }
  EXPECT_EQ(listing(*files), ".stoker-benchmark=16");
}

TEST(BenchFolders, are_no_class_of_a_data_set) {
  TemporaryDirectory root;
  TestDataset data(posix_storage(root.path()));
  put(data.tier(), "cat/1.jpg", "x");
  put(data.tier(), "dog/1.jpg", "x");
  const BenchFolder folder(data.tier(), bench_folder_name());
  put(data.tier(), folder.path() + "/read-0.jpg", "x");
  EXPECT_EQ(data.build("{type: image_folder, storage: data}").classes(),
            (std::vector<std::string>{"cat", "dog"}));
}

TEST(BenchFolders, leave_nothing_of_what_was_made_above_them) {
  TemporaryDirectory root;
  root.write("a/mine", "x");
  const auto tier = posix_storage(root.path());
  {
    const BenchFolder folder(*tier, bench_folder_name("a/b/c"));
    EXPECT_TRUE(folder.path().starts_with("a/b/c/.stoker-bench-"));
    EXPECT_TRUE(std::filesystem::is_directory(root / folder.path()));
  }
  EXPECT_EQ(listing(*tier), "a/mine=1");
}

TEST(BenchFolders, are_one_where_two_tiers_are_one_folder) {
  TemporaryDirectory root, other, links;
  const std::filesystem::path link = links / "link";
  std::filesystem::create_symlink(root.path(), link);
  const auto tier = posix_storage(root.path()), linked = posix_storage(link.string()),
             elsewhere = posix_storage(other.path());
  std::vector<std::unique_ptr<BenchFolder>> folders;
  const std::string path = bench_folder_name();
  for (Storage* const one : {tier.get(), tier.get(), linked.get(), elsewhere.get()}) {
    add_bench_folder(folders, *one, path);
  }
  EXPECT_EQ(folders.size(), 2u);
}

TEST_F(StorageBenchTest, what_cannot_be_done_is_refused) {
  StorageBench bench(tier, never);
  StorageWorkload odd = workload;
  odd.block_bytes += 1;
  EXPECT_EQ(error_of([&] { bench.prepare(odd); }),
            "--block-size 262145 must be a multiple of --transfer-size 4096");
  StorageWorkload objects = workload;
  objects.objects = objects.write = objects.random = true;
  EXPECT_THROW(bench.prepare(objects), Error);
  const auto direct = make_storage("{type: direct, root: " + root.path() + "}");
  StorageBench past_the_cache(*direct, never);
  StorageWorkload small = workload;
  small.transfer_bytes = 512;
  EXPECT_THROW(past_the_cache.prepare(small), Error);
}

}  // namespace
}  // namespace stoker
