#include "io/storage/keys.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace stoker {
namespace {

TEST(Keys, are_relative_paths_that_stay_inside) {
  for (const char* key : {"a", "a/b.jpg", "a b/..c", "a.", ".hidden/x", "caf\\xe9.jpg"}) {
    EXPECT_TRUE(is_key(key)) << key;
  }
  for (const char* key :
       {"", "/", "/a", "a/", "a//b", ".", "./a", "a/..", "../a", ".tmp-1/a", "\\x2e\\x2e/a"}) {
    EXPECT_FALSE(is_key(key)) << key;
  }
}

TEST(Keys, are_plain_however_people_write_them) {
  EXPECT_EQ(plain_key("./train/"), "train");
  EXPECT_EQ(plain_key("a//b/./c"), "a/b/c");
  EXPECT_EQ(plain_key("."), "");
  EXPECT_EQ(plain_key(""), "");
  EXPECT_EQ(plain_key("a"), "a");
  for (const char* text : {"/a", "../a", "a/../b", "//a"}) {
    EXPECT_FALSE(is_key(plain_key(text))) << text;
  }
}

TEST(Keys, have_the_extension_of_their_name) {
  EXPECT_EQ(key_extension("a.b/c.JPG"), ".jpg");
  EXPECT_EQ(key_extension("a.b/c"), "");
  EXPECT_EQ(key_extension(".gitignore"), "");
}

TEST(Keys, in_folders_of_a_system_are_no_data) {
  for (const char* name : {"lost+found", ".Trash-0", ".ipynb_checkpoints", "@eaDir", "__MACOSX",
                           "$RECYCLE.BIN", "$Recycle.Bin", "System Volume Information", "FOUND.000",
                           "#recycle", ".snapshot", "Network Trash Folder", "__pycache__"}) {
    EXPECT_TRUE(is_system_folder(name)) << name;
    EXPECT_TRUE(in_system_folder(std::string("cat/") + name + "/1.jpg")) << name;
  }
  EXPECT_TRUE(in_system_folder("lost+found/"));
  EXPECT_FALSE(in_system_folder("cat/.hidden.jpg")) << "a file";
  EXPECT_FALSE(in_system_folder("lost and found/1.jpg"));
  EXPECT_FALSE(in_system_folder("recycled/1.jpg"));
}

struct Options {
  KeyPath folder;
  template <class V>
  void visit(V& v) {
    v("folder", folder, "");
  }
};

Options options_of(const std::string& yaml) {
  const Node node = parse_yaml(yaml, "test.yaml");
  Options options;
  read_struct(Section(node, "", "dataset", nullptr), options);
  return options;
}

TEST(Keys, of_an_option_are_plain_or_refused_with_its_name) {
  EXPECT_EQ(options_of("{folder: ./train//images/}").folder.value, "train/images");
  EXPECT_EQ(options_of("{folder: .}").folder.value, "");
  for (const std::string wrong : {"../train", "/train"}) {
    EXPECT_EQ(error_of([&] { options_of("{folder: " + wrong + "}"); }),
              "test.yaml:1:10: dataset: 'folder' must be a relative path inside the tier such as "
              "train/images, got '" +
                  wrong + "'");
  }
  EXPECT_EQ(to_yaml(dump_struct(options_of("{}"))), "folder: \"\"");
}

}  // namespace
}  // namespace stoker
