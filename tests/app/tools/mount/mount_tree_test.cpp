#include "app/tools/mount/mount_tree.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stoker {
namespace {

// The names in a directory, each directory with a slash.
std::vector<std::string> names(const MountTree& tree, uint64_t directory) {
  std::vector<std::string> result;
  for (const MountTree::Entry& entry : tree.node(directory)->entries) {
    result.push_back(entry.name + (tree.node(entry.number)->directory ? "/" : ""));
  }
  return result;
}

TEST(MountTree, keys_become_directories_and_files) {
  const MountTree tree({{"a", 1}, {"b/c/d", 2}, {"b/c/e", 3}, {"b/empty/", 0}});
  EXPECT_EQ(names(tree, 1), (std::vector<std::string>{"a", "b/"}));
  const uint64_t b = tree.find(1, "b");
  EXPECT_EQ(names(tree, b), (std::vector<std::string>{"c/", "empty/"}));
  const uint64_t c = tree.find(b, "c");
  const MountTree::Node* const e = tree.node(tree.find(c, "e"));
  EXPECT_EQ(e->key, "b/c/e");
  EXPECT_EQ(e->bytes, 3u);
  EXPECT_EQ(e->parent, c);
  EXPECT_EQ(tree.files(), 3u);
  EXPECT_EQ(tree.bytes(), 6u);
  EXPECT_EQ(tree.left_out(), 0u);
}

TEST(MountTree, what_is_not_there_has_no_number_and_no_node) {
  const MountTree tree({{"a", 1}});
  EXPECT_EQ(tree.find(1, "b"), 0u);
  EXPECT_EQ(tree.find(tree.find(1, "a"), "x"), 0u);
  EXPECT_EQ(tree.find(17, "a"), 0u);
  EXPECT_EQ(tree.node(0), nullptr);
  EXPECT_EQ(tree.node(3), nullptr);
  EXPECT_EQ(tree.node(UINT64_MAX), nullptr);
}

TEST(MountTree, an_empty_listing_is_an_empty_root) {
  const MountTree tree({});
  EXPECT_TRUE(tree.node(1)->directory);
  EXPECT_TRUE(names(tree, 1).empty());
}

TEST(MountTree, a_directory_is_one_although_other_names_stand_between_in_the_order_of_keys) {
  const MountTree tree({{"a-1", 1}, {"a/x", 1}, {"a/y", 1}, {"a0", 1}});
  EXPECT_EQ(names(tree, 1), (std::vector<std::string>{"a/", "a-1", "a0"}));
  EXPECT_EQ(names(tree, tree.find(1, "a")), (std::vector<std::string>{"x", "y"}));
}

TEST(MountTree, keys_that_are_no_paths_are_left_out_and_counted) {
  const MountTree tree({{"", 1},
                        {"../up", 1},
                        {"/x", 1},
                        {"a//b", 1},
                        {"a/./b", 1},
                        {std::string("n\0l", 3), 1},
                        {"ok", 1},
                        {std::string(256, 'x'), 1},
                        {"y\\x2fz", 1}});
  EXPECT_EQ(names(tree, 1), (std::vector<std::string>{"ok"}));
  EXPECT_EQ(tree.left_out(), 8u);
  EXPECT_EQ(tree.files(), 1u);
}

TEST(MountTree, an_object_that_has_the_name_of_a_directory_is_left_out) {
  const MountTree tree({{"a", 5}, {"a-b", 1}, {"a/b", 2}});
  EXPECT_EQ(names(tree, 1), (std::vector<std::string>{"a/", "a-b"}));
  EXPECT_EQ(tree.files(), 2u);
  EXPECT_EQ(tree.bytes(), 3u);
  EXPECT_EQ(tree.left_out(), 1u);
}

TEST(MountTree, names_are_the_bytes_that_the_tier_made_text_of) {
  const MountTree tree({{"\\xff.jpg", 1}});
  EXPECT_NE(tree.find(1, "\xff.jpg"), 0u);
}

TEST(MountTree, the_same_listing_gives_the_same_numbers) {
  const std::vector<ObjectInfo> listing{{"a/b", 1}, {"c", 1}};
  EXPECT_EQ(MountTree(listing).find(1, "c"), MountTree(listing).find(1, "c"));
}

}  // namespace
}  // namespace stoker
