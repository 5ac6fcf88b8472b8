#include "io/storage/page_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "io/core/system/file.h"
#include "tests/support/file_layers.h"
#include "tests/support/mounted.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

constexpr uint64_t kBytes = (4 << 20) + 100;

bool evictable(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 &&
         static_cast<uint64_t>(status.f_type) != TMPFS_MAGIC &&
         static_cast<uint64_t>(status.f_type) != RAMFS_MAGIC;
}

struct PageCache : testing::Test {
  void SetUp() override { root.write("a", std::string(kBytes, 'x')); }

  std::string path(const std::string& name) const { return root / name; }
  FileDescriptor open(const std::string& name) const {
    return open_file("read", path(name), O_RDONLY);
  }
  void evict(const std::string& name) const {
    const FileDescriptor file = open(name);
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  Residency residency(std::vector<std::string> keys) const {
    return page_cache_residency(tree, keys);
  }

  TemporaryDirectory root;
  FileTree tree{root.path()};
};

TEST_F(PageCache, a_file_that_was_written_or_read_is_cached) {
  EXPECT_EQ(residency({"a"}).cached_bytes, kBytes);
  evict("a");
  Residency all;
  // Another process may need the memory meanwhile.
  for (int attempt = 0; attempt < 20 && all.cached_bytes != kBytes; ++attempt) {
    EXPECT_EQ(root.read("a").size(), kBytes);
    all = residency({"a"});
  }
  EXPECT_EQ(all.files, 1);
  EXPECT_EQ(all.bytes, kBytes);
  EXPECT_EQ(all.cached_bytes, kBytes);
}

TEST_F(PageCache, a_file_that_was_evicted_is_not_and_looking_does_not_fetch_it) {
  evict("a");
  for (int again = 0; again < 3; ++again) {
    const Residency none = residency({"a"});
    EXPECT_EQ(none.bytes, kBytes);
    if (evictable(root.path())) {
      EXPECT_LE(none.cached_bytes, kBytes / 50);
    } else {
      EXPECT_EQ(none.cached_bytes, kBytes);  // its memory is the file
    }
  }
}

TEST_F(PageCache, both_ways_agree_on_all_some_and_none) {
  const auto by_cachestat = [&] { return cached_bytes_by_cachestat(open("a").get(), kBytes); };
  const auto by_mincore = [&] { return cached_bytes_by_mincore(open("a").get(), kBytes); };
  EXPECT_EQ(by_mincore(), kBytes);
  EXPECT_EQ(by_cachestat().value_or(kBytes), kBytes);  // absent: an older kernel, or an overlay
  evict("a");
  EXPECT_EQ(by_cachestat().value_or(*by_mincore()), by_mincore());
  if (!evictable(root.path())) {
    EXPECT_EQ(by_mincore(), kBytes);
    return;
  }
  EXPECT_LE(by_mincore(), kBytes / 50);
  const FileDescriptor file = open("a");
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM), 0);  // no read-ahead
  char byte = 0;
  for (const off_t offset : {0, 1 << 20, 2 << 20}) {
    ASSERT_EQ(::pread(file.get(), &byte, 1, offset), 1);
  }
  EXPECT_EQ(by_cachestat().value_or(*by_mincore()), by_mincore());
  EXPECT_GT(by_mincore(), 0u);
  EXPECT_LT(by_mincore(), kBytes);
}

TEST_F(PageCache, ranges_are_those_that_were_read_by_whoever_may_ask) {
  const auto ranges = [&] { return cached_ranges(open("a").get(), kBytes).value(); };
  ASSERT_EQ(ranges().size(), 1u);
  EXPECT_EQ(ranges()[0].begin, 0u);
  EXPECT_EQ(ranges()[0].end, kBytes);
  if (!evictable(root.path())) return;
  const FileDescriptor file = open("a");
  evict_pages(file.get(), path("a"));
  EXPECT_TRUE(ranges().empty());
  ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM), 0);
  char byte = 0;
  for (const off_t offset : {1 << 20, 3 << 20}) ASSERT_EQ(::pread(file.get(), &byte, 1, offset), 1);
  ASSERT_EQ(ranges().size(), 2u);
  EXPECT_EQ(ranges()[0].begin, 1u << 20);
  EXPECT_EQ(ranges()[1].begin, 3u << 20);
}

TEST_F(PageCache, mincore_goes_through_a_large_file_in_windows) {
  constexpr uint64_t kLarge = (5ull << 29) + 5;  // two and a half windows, nearly all of it a hole
  ASSERT_EQ(::truncate(path("a").c_str(), kLarge), 0);
  const FileDescriptor file = open_file("write", path("a"), O_RDWR);
  ASSERT_EQ(::pwrite(file.get(), "x", 1, kLarge - 1), 1);
  const auto cached = cached_bytes_by_mincore(file.get(), kLarge);
  ASSERT_TRUE(cached);
  EXPECT_GT(*cached, kBytes);  // the first window's, and the last page
  EXPECT_LT(*cached, 2 * kBytes);
  EXPECT_EQ(cached_bytes_by_cachestat(file.get(), kLarge).value_or(*cached), *cached);
}

TEST_F(PageCache, evict_leaves_nothing_cached_of_what_it_was_given_and_the_rest_alone) {
  root.write("b", std::string(kBytes, 'y'));
  root.write("c/d", std::string(kBytes, 'z'));
  const std::string keys[] = {"a", "c/d", "none"};  // all of them dirty
  const Residency after = stoker::evict(tree, keys);
  EXPECT_EQ(after.files, 2);
  EXPECT_EQ(after.bytes, 2 * kBytes);
  if (evictable(root.path())) {
    EXPECT_EQ(after.cached_bytes, 0u);
  } else {
    EXPECT_EQ(after.cached_bytes, 2 * kBytes);
  }
  EXPECT_EQ(residency({"b"}).cached_bytes, kBytes);
  EXPECT_EQ(root.read("a"), std::string(kBytes, 'x'));  // dirty pages were written, not lost
  EXPECT_EQ(root.read("c/d"), std::string(kBytes, 'z'));
}

TEST_F(PageCache, a_file_of_tmpfs_stays_and_evict_says_so) {
  STOKER_NEEDS_MOUNTS();
  root.write("mounted/x", "");
  const auto result = run_mounted(path("mounted"), "tmpfs", "size=8m", [&] {
    root.write("mounted/x", std::string(kBytes, 'x'));
    const std::string keys[] = {"mounted/x"};
    return std::to_string(stoker::evict(tree, keys).cached_bytes);
  });
  EXPECT_EQ(result, std::to_string(kBytes));
}

// By a file of its own in the place of the kernel's: dropping the cache of the whole machine would
// disturb other tests.
TEST_F(PageCache, dropping_all_says_whether_it_was_allowed) {
  root.write("control", "");
  EXPECT_TRUE(drop_page_cache(path("control")));
  EXPECT_EQ(root.read("control"), "3\n");
  EXPECT_FALSE(drop_page_cache(path("none")));
  EXPECT_FALSE(drop_page_cache(root.path()));
  EXPECT_FALSE(drop_page_cache("/proc/version"));  // as /proc/sys/vm/drop_caches is to users
}

TEST_F(PageCache, an_empty_file_is_a_file) {
  root.write("empty", "");
  const Residency empty = residency({"empty"});
  EXPECT_EQ(empty.files, 1);
  EXPECT_EQ(empty.bytes, 0u);
  EXPECT_EQ(empty.cached_bytes, 0u);
  EXPECT_EQ(cached_bytes_by_mincore(open("empty").get(), 0), 0u);
}

TEST_F(PageCache, what_is_no_readable_file_is_left_out) {
  root.write("b/c", "0123456789");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Residency some = residency({"none", "b", "b/c", "pipe", "a/b"});
  EXPECT_EQ(some.files, 1);
  EXPECT_EQ(some.bytes, 10u);
  EXPECT_EQ(some.cached_bytes, 10u);
  EXPECT_EQ(residency({}).files, 0);
}

TEST_F(PageCache, the_layers_of_the_tree_see_nothing) {
  const auto layer = std::make_shared<FaultLayer>();
  const FileTree emulated = tree.behind(layer);
  const std::string keys[] = {"a"};
  EXPECT_EQ(page_cache_residency(emulated, keys).files, 1);
  EXPECT_EQ(layer->calls(), 0u);
}

TEST_F(PageCache, what_cannot_be_asked_is_absent) {
  EXPECT_EQ(cached_bytes_by_cachestat(-1, kBytes), std::nullopt);
  EXPECT_EQ(cached_bytes_by_mincore(-1, kBytes), std::nullopt);
  const FileDescriptor proc = open_file("read", "/proc/self/status", O_RDONLY);
  EXPECT_EQ(cached_bytes_by_mincore(proc.get(), kBytes), std::nullopt);
}

// Of such a file the kernel's mincore says that all is cached, whether it is or not.
TEST_F(PageCache, mincore_is_not_asked_about_a_file_of_somebody_else) {
  if (::geteuid() != 0) {
    const FileDescriptor other = open_file("read", "/etc/passwd", O_RDONLY);
    EXPECT_EQ(cached_bytes_by_mincore(other.get(), 100), std::nullopt);
    return;
  }
  const FileDescriptor file = open("a");
  ASSERT_EQ(::chmod(path("a").c_str(), 0644), 0);
  const auto by_nobody = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
      ::_exit(cached_bytes_by_mincore(file.get(), kBytes).has_value() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  };
  EXPECT_EQ(by_nobody(), 0);
  ASSERT_EQ(::chown(path("a").c_str(), 65534, 65534), 0);
  EXPECT_EQ(WEXITSTATUS(by_nobody()), 1);
}

// cachestat looks at overlayfs' own pages, and the cached ones belong to the file below.
TEST_F(PageCache, a_file_of_an_overlay_is_seen) {
  STOKER_NEEDS_MOUNTS();
  for (const char* name : {"lower/a", "upper/b", "work/c", "merged/d"}) root.write(name, "x");
  root.write("lower/a", std::string(kBytes, 'x'));
  std::filesystem::remove(path("work/c"));
  const auto result = run_mounted(
      path("merged"), "overlay",
      "lowerdir=" + path("lower") + ",upperdir=" + path("upper") + ",workdir=" + path("work"), [&] {
        const FileDescriptor file = open("merged/a");
        const bool absent = !cached_bytes_by_cachestat(file.get(), kBytes);
        return (absent ? "no cachestat, " : "cachestat, ") +
               std::to_string(residency({"merged/a"}).cached_bytes);
      });
  EXPECT_EQ(result, "no cachestat, " + std::to_string(kBytes));
}

}  // namespace
}  // namespace stoker
