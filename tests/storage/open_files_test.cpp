#include <gtest/gtest.h>

#include <filesystem>

#include "io/core/error.h"
#include "tests/support/errors.h"
#include "tests/support/storages.h"
#include "tests/support/temporary_directory.h"

// Files that stay open because they are read part by part, as the tiers of files have them.

namespace stoker {
namespace {

int64_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class OpenFilesTest : public testing::TestWithParam<std::string> {
 protected:
  TemporaryDirectory root_;
  std::unique_ptr<Storage> tier_ =
      make_storage("{type: " + GetParam() + ", root: " + root_.path() + "}");
};

TEST_P(OpenFilesTest, a_file_is_opened_once_for_all_its_parts) {
  put(*tier_, "a", "0123456789");
  EXPECT_EQ(get(*tier_, "a", {0, 3}), "012");
  EXPECT_EQ(get(*tier_, "a", {3, 3}), "345");
  const int64_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(get(*tier_, "a", {8, 3}), "89");
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(OpenFilesTest, what_was_replaced_removed_or_cut_is_not_read_any_more) {
  put(*tier_, "a", "0123456789");
  EXPECT_EQ(get(*tier_, "a", {5, 3}), "567");
  put(*tier_, "a", "abcdefghij");
  EXPECT_EQ(get(*tier_, "a", {5, 3}), "fgh");
  std::filesystem::resize_file(root_.path() + "/a", 6);
  EXPECT_EQ(get(*tier_, "a", {5, 3}), "f");
  tier_->remove("a");
  EXPECT_EQ(error_of([&] {
              get(*tier_, "a", {5, 3});
            }),
            "read " + root_.path() + "/a: No such file or directory");
}

TEST_P(OpenFilesTest, no_more_than_some_stay_open) {
  const int64_t before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    put(*tier_, std::to_string(i), "0123456789");
    EXPECT_EQ(get(*tier_, std::to_string(i), {1, 2}), "12");
  }
  EXPECT_LE(open_descriptors(), before + 66);
  EXPECT_GT(open_descriptors(), before);
}

INSTANTIATE_TEST_SUITE_P(Tiers, OpenFilesTest, testing::Values("posix", "direct", "uring"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stoker
