#include <gtest/gtest.h>

#include <cstdlib>

#include "io/dataset/fetch.h"
#include "tests/support/datasets.h"
#include "tests/support/temporary_directory.h"

// The real data: the whole archive where STOKER_CALTECH101 names it, the subset that ships always.
namespace stoker {
namespace {

using Strings = std::vector<std::string>;

TEST(Caltech101, the_subset_has_ten_classes_of_fifty_images) {
  TestDataset data(posix_storage(std::string(STOKER_SOURCE_DIR) + "/datasets/caltech101-mini"));
  const Dataset& mini = data.build(
      "{type: image_folder, storage: data, split: {train_per_class: 30, test_per_class: 20}}");
  EXPECT_EQ(mini.classes().size(), 10u);
  EXPECT_EQ(mini.size(Split::train), 300);
  EXPECT_EQ(mini.size(Split::test), 200);
  EXPECT_EQ(mini.ignored(), Strings{"README.md"});
  for (int64_t i = 0; i < 300; ++i) {
    EXPECT_TRUE(read_sample(mini, Split::train, i).starts_with("\xff\xd8\xff"));
  }
}

// Exists where the archive does; without it the fetch is tested on the subset only.
struct WholeCaltech101 : testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WholeCaltech101);

Strings archives() {
  const char* archive = std::getenv("STOKER_CALTECH101");
  return archive == nullptr || *archive == '\0' ? Strings{} : Strings{archive};
}
INSTANTIATE_TEST_SUITE_P(from, WholeCaltech101, testing::ValuesIn(archives()),
                         [](const auto&) { return "the_archive"; });

TEST_P(WholeCaltech101, has_102_classes_and_9144_images) {
  TemporaryDirectory root;
  TestDataset data(posix_storage(root.path()));
  const Dataset* whole = &data.build("{type: image_folder, storage: data, fetch: caltech101}");
  EXPECT_EQ(whole->classes().size(), 102u);
  EXPECT_EQ(whole->size(Split::train), 9144);
  EXPECT_EQ(whole->ignored(), Strings{"BACKGROUND_Google/tmp"});
  EXPECT_EQ(data.remarks.back(),
            "dataset: ignored 1 file that is no image of a class: 'BACKGROUND_Google/tmp'");
  uint64_t bytes = 0;
  for (int64_t i = 0; i < 9144; ++i) {
    EXPECT_EQ(read_sample(*whole, Split::train, i).size(), whole->info(Split::train, i).bytes);
    bytes += whole->info(Split::train, i).bytes;
  }
  EXPECT_EQ(bytes, 138'601'397u);

  whole = &data.build(
      "{type: image_folder, storage: data, exclude: [BACKGROUND_Google], split: {train_per_class: "
      "30, test_per_class: 50}}");
  EXPECT_EQ(whole->classes().size(), 101u);
  EXPECT_EQ(whole->size(Split::train), 3030);
  EXPECT_TRUE(whole->ignored().empty());
}

}  // namespace
}  // namespace stoker
