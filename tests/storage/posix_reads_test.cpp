#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "io/core/error.h"
#include "io/storage/file_reads.h"
#include "io/storage/page_cache.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

// The reading modes of the posix tier.
namespace stoker {
namespace {

constexpr uint64_t kMiB = 1 << 20;

std::string text_of(uint64_t bytes) {
  std::string text(bytes, '\0');
  for (uint64_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * i >> 9);
  return text;
}

// read(2) and its like of this process so far.
int64_t read_calls() {
  std::ifstream io("/proc/self/io");
  std::string word;
  int64_t value = -1;
  while (io >> word >> value) {
    if (word == "syscr:") return value;
  }
  return -1;
}

struct PosixReads : testing::Test {
  std::unique_ptr<Storage> tier(const std::string& options) {
    return make_storage("{type: posix, root: " + root.path() + ", " + options + "}");
  }
  // How many reads the kernel saw for one of the tier's.
  int64_t reads_of(const Storage& storage, const std::string& key) {
    Buffer buffer;
    const int64_t before = read_calls();
    const int64_t between = read_calls();
    storage.read(key, buffer);
    const int64_t after = read_calls();
    return (after - between) - (between - before);  // looking costs some itself
  }
  bool evictable() const {
    struct statfs status {};
    return ::statfs(root.path().c_str(), &status) == 0 &&
           static_cast<uint64_t>(status.f_type) != TMPFS_MAGIC;
  }
  uint64_t cached(const std::string& key) {
    const std::string keys[] = {key};
    return page_cache_residency(FileTree(root.path()), keys).cached_bytes;
  }

  TemporaryDirectory root;
};

TEST_F(PosixReads, tensorflow_takes_a_pread_per_mebibyte_and_an_empty_one) {
  ASSERT_GE(read_calls(), 0) << "/proc/self/io does not count reads";
  const auto tensorflow = tier("read: tensorflow");
  const auto pread = tier("read: pread");
  const std::map<uint64_t, int64_t> expected{{0, 1},        {1, 2},           {12'865, 2},
                                             {kMiB - 1, 2}, {kMiB, 2},        {kMiB + 1, 3},
                                             {3 * kMiB, 4}, {3 * kMiB + 5, 5}};
  for (const auto& [bytes, reads] : expected) {
    root.write("file", text_of(bytes));
    EXPECT_EQ(reads_of(*tensorflow, "file"), reads) << bytes << " bytes";
    EXPECT_EQ(reads_of(*pread, "file"), bytes == 0 ? 0 : 1) << bytes << " bytes";
  }
}

TEST_F(PosixReads, mmap_reads_without_a_read) {
  ASSERT_GE(read_calls(), 0) << "/proc/self/io does not count reads";
  root.write("file", text_of(3 * kMiB + 5));
  // Where a mapping may not be copied safely it is read instead.
  EXPECT_EQ(reads_of(*tier("read: mmap"), "file"), can_copy_mapped() ? 0 : 1);
}

TEST_F(PosixReads, all_modes_and_advices_give_the_same_bytes) {
  const std::string text = text_of(2 * kMiB + 777);
  root.write("file", text);
  for (const std::string read : {"pread", "tensorflow", "mmap"}) {
    for (const std::string advice : {"normal", "sequential", "random", "willneed", "dontneed"}) {
      const auto storage = tier("read: " + read + ", advice: " + advice);
      EXPECT_TRUE(get(*storage, "file") == text) << read << " " << advice;
      for (const Range range : {Range{1, 5}, Range{4095, 2}, Range{kMiB - 1, kMiB + 2},
                                Range{2 * kMiB, kMiB}, Range{2 * kMiB + 777, 1}}) {
        EXPECT_TRUE(get(*storage, "file", range) == text.substr(range.offset, range.length))
            << read << " " << advice << " " << range.offset;
      }
    }
  }
}

TEST_F(PosixReads, dontneed_leaves_nothing_in_the_page_cache) {
  root.write("file", text_of(2 * kMiB + 777));
  const std::string keys[] = {"file"};
  for (const std::string read : {"pread", "tensorflow", "mmap"}) {
    evict(FileTree(root.path()), keys);
    get(*tier("read: " + read), "file");
    EXPECT_GT(cached("file"), kMiB) << read;  // not all: a busy machine takes some back
    get(*tier("advice: dontneed, read: " + read), "file");
    EXPECT_EQ(cached("file"), evictable() ? 0u : 2 * kMiB + 777) << read;
  }
}

TEST_F(PosixReads, random_advice_reads_nothing_ahead) {
  root.write("file", text_of(8 * kMiB));
  const std::string keys[] = {"file"};
  const auto cached_after = [&](const std::string& advice) {
    evict(FileTree(root.path()), keys);
    get(*tier("advice: " + advice), "file", {0, 4096});
    return cached("file");
  };
  EXPECT_EQ(cached_after("random"), evictable() ? 4096u : 8 * kMiB);  // else the file is memory
  EXPECT_GT(cached_after("sequential"), 4096u);
}

TEST_F(PosixReads, an_unknown_mode_is_refused) {
  EXPECT_TRUE(
      error_of([&] { tier("read: mmmap"); })
          .ends_with("storage: 'read' must be one of pread, tensorflow, mmap, got 'mmmap' (did you "
                     "mean 'mmap'?)"));
}

// A mapping whose file was cut kills who touches it: here it is an error like any other.
TEST_F(PosixReads, a_file_that_shrinks_under_a_mapping_is_an_error) {
  const std::string path = root / "big";
  const auto storage = tier("read: mmap");
  bool seen = false;
  for (int attempt = 0; attempt < 40 && !seen; ++attempt) {
    root.write("big", "");
    ASSERT_EQ(::truncate(path.c_str(), off_t{128} << 20), 0);
    std::jthread cutter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(attempt % 10));
      EXPECT_EQ(::truncate(path.c_str(), 10), 0);
    });
    try {
      get(*storage, "big");
    } catch (const IoError& error) {
      seen = std::string(error.what()).find(": the file shrank while it was read (") !=
             std::string::npos;
    }
    cutter.join();
  }
  EXPECT_TRUE(seen);
}

TEST_F(PosixReads, the_end_of_a_file_in_a_mapping_is_a_count) {
  root.write("file", text_of(10'000));
  const std::string path = root / "file";
  // As if the file had been longer when it was looked at.
  const ObjectFile file{path, open_file("read", path, O_RDONLY), 100'000, false};
  std::vector<uint8_t> data(100'000);
  EXPECT_EQ(read_mapped(file, data.data(), data.size(), 0), 10'000);
  EXPECT_EQ(read_mapped(file, data.data(), 90'000, 5'001), 4'999);
  EXPECT_EQ(read_mapped(file, data.data(), 50, 20'000), 0);
  EXPECT_EQ(read_mapped(file, data.data(), 50, 50), 50);
  EXPECT_EQ(std::string(data.begin(), data.begin() + 50), text_of(100).substr(50));
}

}  // namespace
}  // namespace stoker
