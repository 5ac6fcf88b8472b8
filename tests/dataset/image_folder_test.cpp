#include <gtest/gtest.h>

#include "io/core/error.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/expecting_storage.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

constexpr const char* kHint =
    " (put one folder of images per class there; Caltech-101 is obtained by "
    "dataset.fetch=caltech101 or `stoker dataset fetch`)";

TEST(ImageFolder, classes_are_the_sorted_folder_names) {
  MemoryFolder folder(
      {"b/2.jpg", "b/1.JPG", "a/x.jpeg", "c/y.png", "C2/z.webp", "b/deep/er/3.bmp"});
  const Dataset& data = folder.build("{type: image_folder, storage: data}");
  EXPECT_EQ(data.classes(), (Strings{"C2", "a", "b", "c"}));
  EXPECT_EQ(keys(data, Split::train),
            (Strings{"C2/z.webp", "a/x.jpeg", "b/1.JPG", "b/2.jpg", "b/deep/er/3.bmp", "c/y.png"}));
  EXPECT_EQ(data.size(Split::test), 0);
  const SampleInfo sample = data.info(Split::train, 2);
  EXPECT_EQ(sample.label, 2);
  EXPECT_EQ(sample.bytes, 7u);
  EXPECT_EQ(read_sample(data, Split::train, 2), "b/1.JPG");
  EXPECT_TRUE(folder.remarks.empty());
}

TEST(ImageFolder, test_images_may_have_a_folder_of_their_own) {
  MemoryFolder folder({"train/a/1.jpg", "train/b/2.jpg", "train/c/3.jpg", "val/c/4.jpg",
                       "val/b/x/5.jpg", "val/b/6.txt"});
  const std::string options = "{type: image_folder, storage: data, folder: train, test_folder: val";
  const Dataset& data = folder.build(options + "}");
  EXPECT_EQ(keys(data, Split::train), (Strings{"train/a/1.jpg", "train/b/2.jpg", "train/c/3.jpg"}));
  EXPECT_EQ(keys(data, Split::test), (Strings{"val/b/x/5.jpg", "val/c/4.jpg"}));
  EXPECT_EQ(data.info(Split::test, 1).label, 2);
  EXPECT_EQ(read_sample(data, Split::test, 1), "val/c/4.jpg");
  EXPECT_EQ(data.ignored(), Strings{"val/b/6.txt"});
  EXPECT_EQ(keys(folder.build(options + ", exclude: [c]}"), Split::test), Strings{"val/b/x/5.jpg"});
  EXPECT_EQ(
      folder.refused(options + ", split: {test_fraction: 0.5}}"),
      "test.yaml:1:77: dataset: 'split' must not be there beside test_folder, which says what "
      "tests");
  put(folder.tier(), "val/bb/7.jpg", "7");
  EXPECT_EQ(folder.refused(options + "}"),
            "dataset: test_folder has a class 'bb' of which there are no training images (did you "
            "mean 'b'?); there are 'b', 'a' and 'c': remove its folder, or add some");
}

// Photographs that lie in a folder as they are had no class, and could not be loaded.
TEST(ImageFolder, images_without_labels_may_be_one_class) {
  MemoryFolder folder({"1.jpg", "2.png", "notes.txt", "more/deep/3.jpg", ".git/x.jpg"});
  const Dataset& data = folder.build("{type: image_folder, storage: data, one_class: true}");
  EXPECT_EQ(data.classes(), Strings{"images"});
  EXPECT_EQ(keys(data, Split::train), (Strings{"1.jpg", "2.png", "more/deep/3.jpg"}));
  EXPECT_EQ(data.ignored(), (Strings{".git/x.jpg", "notes.txt"}));
  // Folders that look like parts are none.
  MemoryFolder parts({"train/a/1.jpg", "val/a/2.jpg"});
  EXPECT_EQ(parts.build("{type: image_folder, storage: data, one_class: true}").size(Split::train),
            2);
}

TEST(ImageFolder, other_files_are_ignored_and_named) {
  MemoryFolder folder({"a/1.jpg", "a/tmp", "a/.hidden.jpg", "a/._1.jpg", "README.md", ".git/x.jpg",
                       "stray.jpg", "a/2.jpg.txt", "b/1.jpg", "b/jpg"});
  const Dataset& data = folder.build("{type: image_folder, storage: data}");
  EXPECT_EQ(keys(data, Split::train), (Strings{"a/1.jpg", "b/1.jpg"}));
  EXPECT_EQ(data.ignored(), (Strings{".git/x.jpg", "README.md", "a/._1.jpg", "a/.hidden.jpg",
                                     "a/2.jpg.txt", "a/tmp", "b/jpg", "stray.jpg"}));
  EXPECT_EQ(folder.remarks,
            Strings{"dataset: ignored 8 files that are no images of a class: '.git/x.jpg', "
                    "'README.md', 'a/._1.jpg', 'a/.hidden.jpg', 'a/2.jpg.txt' and 3 more"});
  folder.build("{type: image_folder, storage: data, exclude: [a]}");
  EXPECT_EQ(folder.remarks.at(0),
            "dataset: ignored 4 files that are no images of a class: '.git/x.jpg', 'README.md', "
            "'b/jpg' and 'stray.jpg'");
}

TEST(ImageFolder, a_folder_of_the_tier_can_be_chosen) {
  MemoryFolder folder({"one/a/1.jpg", "one/b/1.jpg", "one2/c/1.jpg"});
  const Dataset& data = folder.build("{type: image_folder, storage: data, folder: one}");
  EXPECT_EQ(data.classes(), (Strings{"a", "b"}));
  EXPECT_EQ(keys(data, Split::train), (Strings{"one/a/1.jpg", "one/b/1.jpg"}));
}

TEST(ImageFolder, excluded_classes_are_left_out_and_unknown_ones_refused) {
  MemoryFolder folder({"BACKGROUND_Google/1.jpg", "ant/1.jpg", "bass/1.jpg"});
  const std::string yaml = "{type: image_folder, storage: data, exclude: ";
  EXPECT_EQ(folder.build(yaml + "[BACKGROUND_Google]}").classes(), (Strings{"ant", "bass"}));
  EXPECT_EQ(folder.refused(yaml + "[BACKGROUND_Goggle]}"),
            "dataset: exclude: there is no class 'BACKGROUND_Goggle' (did you mean "
            "'BACKGROUND_Google'?); there are 'BACKGROUND_Google', 'ant' and 'bass'");
  EXPECT_EQ(folder.refused(yaml + "[ant, bass, BACKGROUND_Google]}"),
            std::string("dataset: tier 'data' holds no class folders") + kHint);
}

TEST(ImageFolder, the_order_does_not_depend_on_the_file_system) {
  // ext4 lists a directory in the order of hashes, tmpfs in that of creation.
  TemporaryDirectory forwards;
  TemporaryDirectory backwards;
  for (int i = 0; i < 100; ++i) {
    const auto name = [](int n) {
      return "class_" + std::to_string(n % 7) + "/" + std::to_string(n) + ".jpg";
    };
    forwards.write(name(i), "x");
    backwards.write(name(99 - i), "x");
  }
  const std::string yaml = "{type: image_folder, storage: data, split: {train_per_class: 5}}";
  TestDataset a(posix_storage(forwards.path()));
  TestDataset b(posix_storage(backwards.path()));
  for (const Split split : {Split::train, Split::test}) {
    EXPECT_EQ(keys(a.build(yaml), split), keys(b.build(yaml), split));
  }
}

TEST(ImageFolder, splits_are_disjoint_seeded_and_keep_the_other_classes) {
  Strings all = numbered("cat", 20);
  for (const std::string& key : numbered("dog", 40)) all.push_back(key);
  MemoryFolder folder(all);
  const std::string yaml =
      "{type: image_folder, storage: data, split: {train_per_class: 10, "
      "test_per_class: 15}";
  Dataset* data = &folder.build(yaml + "}");
  const Strings train = keys(*data, Split::train);
  const Strings test = keys(*data, Split::test);
  EXPECT_EQ(train.size(), 20u);
  EXPECT_EQ(test.size(), 10u + 15u);
  for (const std::string& key : test) EXPECT_EQ(std::count(train.begin(), train.end(), key), 0);
  EXPECT_EQ(keys(folder.build(yaml + "}"), Split::train), train);
  EXPECT_NE(keys(folder.build(yaml + "}", 2), Split::train), train);
  data = &folder.build(yaml + ", exclude: [cat]}");
  EXPECT_EQ(keys(*data, Split::train), Strings(train.begin() + 10, train.end()));
  EXPECT_EQ(data->info(Split::train, 0).label, 0);
}

TEST(ImageFolder, a_missing_folder_says_what_to_do) {
  TemporaryDirectory root;
  TestDataset data(posix_storage(root / "absent"));
  try {
    data.build("{type: image_folder, storage: data}");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_EQ(error.what(), "dataset: list " + root / "absent" +
                                ": No such file or directory; there are none in " + root.path() +
                                kHint);
  }
}

TEST(ImageFolder, a_tier_without_classes_says_what_to_do) {
  MemoryFolder folder({"README.md", "a.jpg"});
  EXPECT_EQ(
      folder.refused("{type: image_folder, storage: data}"),
      std::string("dataset: tier 'data' holds no class folders, only 'README.md' and 'a.jpg'") +
          kHint);
}

TEST(ImageFolder, a_wrong_folder_names_those_that_are_there) {
  MemoryFolder folder({"train/cat/1.jpg", "train/dog/1.jpg", "val/cat/2.jpg", ".git/x"});
  const std::string yaml = "{type: image_folder, storage: data, folder: ";
  EXPECT_EQ(folder.refused(yaml + "trian}"),
            "dataset: there is no folder 'trian' in tier 'data' (did you mean 'train'?); there are "
            "'train' and 'val': set dataset.folder");
  EXPECT_EQ(folder.refused(yaml + "./train, test_folder: vall/}"),
            "dataset: there is no folder 'vall' in tier 'data' (did you mean 'val'?); there are "
            "'val' and 'train': set dataset.test_folder");
  EXPECT_EQ(folder.refused(yaml + "train/cta}"),
            "dataset: there is no folder 'train/cta' in tier 'data' (did you mean 'train/cat'?); "
            "there are 'train/cat' and 'train/dog': set dataset.folder");
  EXPECT_EQ(folder.refused(yaml + "images/cat}"),
            "dataset: there is no folder 'images/cat' in tier 'data'; there are 'train' and 'val': "
            "set dataset.folder");
  EXPECT_EQ(folder.refused(yaml + "train/cat}"),
            std::string("dataset: folder 'train/cat' of tier 'data' holds no class folders, only "
                        "'1.jpg': set dataset.folder to the folder above it") +
                kHint);
  EXPECT_EQ(folder.build(yaml + "./train/}").classes(), (Strings{"cat", "dog"}));
}

TEST(ImageFolder, an_empty_class_is_an_error) {
  const std::string yaml = "{type: image_folder, storage: data}";
  TemporaryDirectory root;
  root.write("cats/1.jpg", "x");
  root.write("cows/1.jpg", "x");
  std::filesystem::create_directory(root / "dogs");
  TestDataset data(posix_storage(root.path()));
  EXPECT_EQ(error_of([&] { data.build(yaml); }),
            "dataset: class 'dogs' has no images (.jpg, .jpeg, .jpe, .jfif, .png, .bmp, .webp, "
            ".tif, .tiff): it is empty: add some, remove the folder, or leave it out with "
            "dataset.exclude=[dogs]");
  EXPECT_EQ(data.build("{type: image_folder, storage: data, exclude: [dogs]}").classes(),
            (Strings{"cats", "cows"}));
}

TEST(ImageFolder, data_of_an_interrupted_fetch_are_refused) {
  MemoryFolder folder({".fetching", "a/1.jpg"});
  EXPECT_EQ(folder.refused("{type: image_folder, storage: data}"),
            "dataset: the data in tier 'data' are incomplete, for fetching them was interrupted: "
            "continue with dataset.fetch=caltech101 or `stoker dataset fetch`");
}

TEST(ImageFolder, a_file_that_is_too_large_is_a_bad_sample_and_is_not_read_whole) {
  MemoryFolder folder({"a/1.jpg"});
  put(folder.tier(), "a/2.jpg", std::string(1025, 'x'));
  put(folder.tier(), "a/3.jpg", std::string(1024, 'x'));
  const Dataset& data = folder.build("{type: image_folder, storage: data, max_file_bytes: 1KiB}");
  EXPECT_EQ(read_sample(data, Split::train, 2).size(), 1024u);
  try {
    read_sample(data, Split::train, 1);
    FAIL() << "no error";
  } catch (const BadSample& error) {
    EXPECT_EQ(error.reason(), BadReason::too_large);
    EXPECT_STREQ(error.what(), "the file has more than 1024 bytes (dataset.max_file_bytes)");
  }
}

TEST(ImageFolder, a_file_that_is_not_as_long_as_it_was_is_read_as_a_whole) {
  MemoryFolder folder({"a/1.jpg", "a/2.jpg", "a/3.jpg"});
  const Dataset& data = folder.build("{type: image_folder, storage: data, max_file_bytes: 1KiB}");
  put(folder.tier(), "a/1.jpg", std::string(1000, 'x'));
  put(folder.tier(), "a/2.jpg", "x");
  put(folder.tier(), "a/3.jpg", std::string(2000, 'x'));
  EXPECT_EQ(read_sample(data, Split::train, 0).size(), 1000u);
  EXPECT_EQ(read_sample(data, Split::train, 1), "x");
  EXPECT_EQ(error_of([&] { read_sample(data, Split::train, 2); }),
            "the file has more than 1024 bytes (dataset.max_file_bytes)");
}

TEST(ImageFolder, tells_its_tier_what_it_will_read) {
  TestDataset folder(std::make_unique<ExpectingStorage>(make_storage("{type: memory}")));
  for (const std::string key : {"a/1.jpg", "a/22.jpg", "b/3.jpg"}) put(folder.tier(), key, key);
  const Dataset& data =
      folder.build("{type: image_folder, storage: data, max_file_bytes: 7, split: {}}");
  const auto& tier = dynamic_cast<const ExpectingStorage&>(folder.tier());
  const std::vector<int64_t> order{2, 0, 1};
  data.expect(Split::train, order);
  read_sample(data, Split::train, 2);
  read_sample(data, Split::train, 0);
  EXPECT_THROW(read_sample(data, Split::train, 1), BadSample);
  const std::vector<ObjectRange> expected = tier.expected();
  EXPECT_EQ(expected, (std::vector<ObjectRange>{
                          {"b/3.jpg", {0, 8}}, {"a/1.jpg", {0, 8}}, {"a/22.jpg", {0, 8}}}));
  EXPECT_EQ(tier.reads(), expected);
}

TEST(ImageFolder, a_file_that_vanished_is_an_io_error) {
  MemoryFolder folder({"a/1.jpg", "a/2.jpg"});
  const Dataset& data = folder.build("{type: image_folder, storage: data}");
  folder.tier().remove("a/1.jpg");
  EXPECT_EQ(error_of([&] { read_sample(data, Split::train, 0); }),
            "read a/1.jpg: No such file or directory");
  EXPECT_EQ(read_sample(data, Split::train, 1), "a/2.jpg");
}

TEST(ImageFolder, wrong_options_are_refused_with_their_place) {
  const auto refused = [](const std::string& yaml) {
    return error_of([&] { TestDataset::parse(yaml); });
  };
  EXPECT_EQ(refused("{type: image_folder}"), "test.yaml:1:1: dataset: missing key 'storage'");
  EXPECT_EQ(refused("{type: image_folder, storage: dada}"),
            "test.yaml:1:31: dataset: 'storage' names no tier under storage:, got 'dada' (did you "
            "mean 'data'?)");
  EXPECT_EQ(refused("{type: image_folder, storage: data, fetch: caltech11}"),
            "test.yaml:1:44: dataset: 'fetch' names no known data set, got 'caltech11' (did you "
            "mean 'caltech101'?)");
  EXPECT_EQ(refused("{type: image_folder, storage: data, exclud: [a]}"),
            "test.yaml:1:37: dataset: unknown key 'exclud' (did you mean 'exclude'?)");
}

}  // namespace
}  // namespace stoker
