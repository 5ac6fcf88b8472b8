#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/statfs.h>

#include <vector>

#include "io/core/error.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/page_cache.h"
#include "tests/support/errors.h"
#include "tests/support/mounted.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

// The direct tier, and what it shares with the uring tier in direct mode.
namespace stoker {
namespace {

const std::string kRefused = "O_DIRECT is refused here: reads go through the page cache";

struct Direct : testing::TestWithParam<std::string> {
  std::unique_ptr<Storage> tier(const std::string& below = "") {
    const Node node = parse_yaml("{" + GetParam() + ", root: " + root.path() + below + "}", "x");
    return Registry<Storage>::global()
        .parse(Section(node, "", "storage", nullptr))
        .create({"data", [this](const std::string& text) { remarks.push_back(text); }, nullptr,
                 &meter});
  }
  bool evictable() const {
    struct statfs status {};
    return ::statfs(root.path().c_str(), &status) == 0 &&
           static_cast<uint64_t>(status.f_type) != TMPFS_MAGIC;
  }

  TemporaryDirectory root;
  Tracer tracer;
  TierMeter meter{"data", "direct", false, tracer};
  std::vector<std::string> remarks;
};

INSTANTIATE_TEST_SUITE_P(tiers, Direct,
                         testing::Values("type: direct",
                                         "type: uring, direct: true, block: 8KiB, queue_depth: 3"),
                         [](const auto& info) {
                           return std::string(info.index == 0 ? "direct" : "uring");
                         });

TEST_P(Direct, ranges_that_are_not_aligned_are_cut_out_of_blocks) {
  for (const uint64_t size : {1, 4095, 4096, 4097, 100'000}) {
    std::string text(size, '\0');
    for (uint64_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * i >> 5);
    root.write("file", text);
    const auto storage = tier();
    EXPECT_TRUE(get(*storage, "file") == text) << size;
    for (const uint64_t offset : {0, 1, 511, 4095, 4096, 4097, 50'000, 99'999}) {
      for (const uint64_t length : {1, 4096, 8192, 12'345, 1'000'000}) {
        const std::string expected = offset < size ? text.substr(offset, length) : "";
        EXPECT_TRUE(get(*storage, "file", {offset, length}) == expected)
            << size << ": " << offset << " + " << length;
      }
    }
  }
  EXPECT_TRUE(remarks.empty());
}

TEST_P(Direct, reading_leaves_the_page_cache_as_it_was) {
  const std::string text(1 << 20, 'x');
  const auto storage = tier();
  put(*storage, "a/file", text);
  const std::string keys[] = {"a/file"};
  const FileTree tree(root.path());
  const uint64_t least = evictable() ? 0 : text.size();  // else the file is memory
  ASSERT_EQ(evict(tree, keys).cached_bytes, least);
  EXPECT_TRUE(get(*storage, "a/file") == text);
  EXPECT_EQ(page_cache_residency(tree, keys).cached_bytes, least);
  get(*posix_storage(root.path()), "a/file");
  EXPECT_GT(page_cache_residency(tree, keys).cached_bytes, text.size() / 2);
}

TEST_P(Direct, its_files_say_how_they_are_read) {
  EXPECT_EQ(files_of(*tier())->access(), FileAccess::direct);
  EXPECT_EQ(files_of(*posix_storage(root.path()))->access(), FileAccess::buffered);
}

// ramfs takes no O_DIRECT.
TEST_P(Direct, where_it_is_refused_the_page_cache_serves_and_that_is_said_once) {
  STOKER_NEEDS_MOUNTS();
  root.write("mounted/x", "");
  const auto result = run_mounted(root / "mounted", "ramfs", "", [this] {
    const auto storage = tier("/mounted");
    put(*storage, "a", "through the cache");
    std::string text = get(*storage, "a") + "; " + get(*storage, "a", {8, 3});
    for (const std::string& remark : remarks) text += "; " + remark;
    for (const std::string& condition : meter.state().conditions) text += "; " + condition;
    return text;
  });
  EXPECT_EQ(result, "through the cache; the; storage 'data': " + kRefused + "; " + kRefused);
}

// The root is not there when the tier is made: it finds out when it reads.
TEST_P(Direct, what_shows_only_at_the_first_read_is_a_condition) {
  STOKER_NEEDS_MOUNTS();
  root.write("mounted/x", "");
  const auto result = run_mounted(root / "mounted", "ramfs", "", [this] {
    const auto storage = tier("/mounted/later");
    std::string text = std::to_string(remarks.size());
    put(*storage, "a", "text");
    text += get(*storage, "a") + get(*storage, "a") + std::to_string(remarks.size());
    for (const std::string& condition : meter.state().conditions) text += "; " + condition;
    return text;
  });
  EXPECT_EQ(result, "0texttext0; " + kRefused);
}

}  // namespace
}  // namespace stoker
