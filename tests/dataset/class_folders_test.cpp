#include "io/dataset/files/class_folders.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "tests/support/datasets.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

using Strings = std::vector<std::string>;

TEST(ClassFolders, a_class_without_images_says_what_lies_there) {
  const auto refused = [](const Strings& files, const std::string& extensions = "") {
    Strings all{"a/1.jpg"};
    for (const std::string& file : files) all.push_back("b/" + file);
    const std::string message =
        MemoryFolder(all).refused("{type: image_folder, storage: data" + extensions + "}");
    return message.substr(message.find("): ") + 3);
  };
  const std::string leave_out = ", or leave it out with dataset.exclude=[b]";
  EXPECT_EQ(
      refused({"1.HEIC", "2.heic", "notes.txt"}),
      "its files are 2 .heic, 1 .txt: to take them set dataset.extensions=[.heic]" + leave_out);
  EXPECT_EQ(
      refused({"0001", "0002"}),
      "its files are 2 without an extension: to take them set dataset.extensions=['']" + leave_out);
  EXPECT_EQ(refused({"1.ppm", "x/2.ppm", "3.gif", "4.avif", "5.svg", "6.ico", "7.dng", "8.raw"}),
            "its files are 2 .ppm, 1 .avif, 1 .dng, 1 .gif, 1 .ico and 2 more kinds: to take them "
            "set dataset.extensions=[.ppm]" +
                leave_out);
  EXPECT_EQ(refused({".DS_Store", "@eaDir/1.jpg"}),
            "it is empty: add some, remove the folder, or leave it out with dataset.exclude=[b]");
}

TEST(ClassFolders, the_ends_of_names_are_taken_in_any_form) {
  MemoryFolder folder({"a/1.JPG", "a/2.jfif", "a/3.tif", "a/x.rgb.png", "a/x.depth.png", "a/0001"});
  const auto taken = [&](const std::string& extensions) {
    return keys(folder.build("{type: image_folder, storage: data" + extensions + "}"),
                Split::train);
  };
  EXPECT_EQ(taken(""), (Strings{"a/1.JPG", "a/2.jfif", "a/3.tif", "a/x.depth.png", "a/x.rgb.png"}));
  for (const char* written : {".jpg", ".JPG", "jpg", "Jpg", "'*.jpg'"}) {
    EXPECT_EQ(taken(", extensions: [" + std::string(written) + "]"), Strings{"a/1.JPG"}) << written;
  }
  EXPECT_EQ(taken(", extensions: [.rgb.png]"), Strings{"a/x.rgb.png"});
  EXPECT_EQ(taken(", extensions: ['']"), Strings{"a/0001"});
}

TEST(ClassFolders, folders_of_systems_and_programs_are_no_data_at_any_depth) {
  MemoryFolder folder({"a/1.jpg", "a/.ipynb_checkpoints/1-checkpoint.jpg", "a/@eaDir/1.jpg",
                       "a/deep/.thumbnails/1.jpg", "__MACOSX/a/2.jpg", "lost+found/3.jpg",
                       "#recycle/b/4.jpg", "b/1.jpg", ".stoker-bench-1/read-0"});
  const Dataset& data = folder.build("{type: image_folder, storage: data}");
  EXPECT_EQ(data.classes(), (Strings{"a", "b"}));
  EXPECT_EQ(keys(data, Split::train), (Strings{"a/1.jpg", "b/1.jpg"}));
  EXPECT_EQ(data.ignored().size(), 7u);
  EXPECT_EQ(folder.remarks.size(), 1u);
  EXPECT_EQ(folder.build("{type: image_folder, storage: data, exclude: [lost+found, .Trash-0]}")
                .classes(),
            (Strings{"a", "b"}))
      << "who left them out by hand may go on to do so";
}

TEST(ClassFolders, the_parts_of_a_data_set_are_no_classes) {
  const auto refused = [](const std::string& train, const std::string& test) {
    return MemoryFolder({train + "/cat/1.jpg", train + "/dog/2.jpg", test + "/cat/3.jpg",
                         "README.md", "meta/list.txt"})
        .refused("{type: image_folder, storage: data}");
  };
  for (const auto& [train, test] :
       {std::pair("train", "val"), std::pair("Training", "Validation"),
        std::pair("seg_train", "seg_test"), std::pair("TrainSet2017", "testing")}) {
    EXPECT_EQ(refused(train, test),
              fmt::format("dataset: tier 'data' has no classes but the parts of a data set, '{0}' "
                          "and '{1}', and the classes lie in these: set dataset.folder={0} and "
                          "dataset.test_folder={1}",
                          train, test));
  }
  EXPECT_EQ(MemoryFolder({"in/test/c/1.jpg", "in/train/c/2.jpg", "in/valid/c/3.jpg"})
                .refused("{type: image_folder, storage: data, folder: in}"),
            "dataset: folder 'in' of tier 'data' has no classes but the parts of a data set, "
            "'train', 'valid' and 'test', and the classes lie in these: set "
            "dataset.folder=in/train and dataset.test_folder=in/valid");
  MemoryFolder vehicles({"train/1.jpg", "ship/1.jpg", "train/deep/2.jpg"});
  vehicles.build("{type: image_folder, storage: data}");
  EXPECT_TRUE(vehicles.remarks.empty());
  MemoryFolder flat({"train/1.jpg", "test/1.jpg"});
  flat.build("{type: image_folder, storage: data}");
  EXPECT_EQ(flat.remarks, Strings{"dataset: the classes are 'test' and 'train': are these the "
                                  "parts of a data set?"});
}

TEST(ClassFolders, classes_that_can_hardly_be_meant_are_said) {
  const auto remarks = [](const Strings& files, const std::string& options = "") {
    MemoryFolder folder(files);
    folder.build("{type: image_folder, storage: data" + options + "}");
    return folder.remarks;
  };
  EXPECT_EQ(remarks({"images/cat/1.jpg", "images/dog/2.jpg"}),
            (Strings{"dataset: there is one class alone, 'images', so every answer is right",
                     "dataset: the images of every class lie in 'cat' and 'dog': if these are the "
                     "classes, set dataset.folder=images"}));
  EXPECT_EQ(remarks({"fold1/cat/1.jpg", "fold1/dog/2.jpg", "fold2/cat/3.jpg", "fold2/dog/4.jpg"}),
            Strings{"dataset: the images of every class lie in 'cat' and 'dog': if these are the "
                    "classes, set dataset.folder=fold1"});
  EXPECT_TRUE(remarks({"cat/images/1.jpg", "dog/images/2.jpg"}).empty()) << "as in Tiny ImageNet";
  EXPECT_EQ(
      remarks({"1/a.jpg", "2/a.jpg", "10/a.jpg"}),
      Strings{"dataset: the classes are numbers in the order of text, so the label of a class "
              "is its place and not its number: '1', '10' and '2'"});
  EXPECT_TRUE(remarks({"01/a.jpg", "02/a.jpg", "10/a.jpg"}).empty());
  EXPECT_EQ(remarks({"cat/1.jpg", "cat /2.jpg", "Dog/3.jpg", "dog/4.jpg"}),
            (Strings{"dataset: the classes 'cat' and 'cat ' differ in the case of letters, in "
                     "blanks or in accents alone: rename one of them if they are the same",
                     "dataset: the classes 'Dog' and 'dog' differ in the case of letters, in "
                     "blanks or in accents alone: rename one of them if they are the same"}));
  // A space that does not break; an accent that is a part of its letter, or a mark behind it.
  for (const auto& [one, other] :
       {std::pair("cat", "cat\u00a0"), std::pair("cafe\u0301", "caf\u00e9"),
        std::pair("Angstr\u00f6m", "angstro\u0308m")}) {
    const Strings said = remarks({std::string(one) + "/1.jpg", std::string(other) + "/2.jpg"});
    EXPECT_EQ(said.size(), 1u) << one;
  }
  EXPECT_TRUE(
      remarks({"na\u00efve/1.jpg", "native/2.jpg", "\u732b/3.jpg", "\u72ac/4.jpg"}).empty());
}

TEST(ClassFolders, classes_without_a_test_image_are_said) {
  Strings all = numbered("cat", 4);
  for (const std::string& key : numbered("dog", 40)) all.push_back(key);
  MemoryFolder folder(all);
  folder.build("{type: image_folder, storage: data, split: {test_fraction: 0.1}}");
  EXPECT_EQ(folder.remarks, Strings{"dataset: 1 of 2 classes has no test image: 'cat'; raise "
                                    "dataset.split.test_fraction"});
  folder.build("{type: image_folder, storage: data, split: {test_fraction: 0.01}}");
  EXPECT_EQ(folder.remarks, Strings{"dataset: 2 of 2 classes have no test image: 'cat' and 'dog'; "
                                    "raise dataset.split.test_fraction"});
  folder.build("{type: image_folder, storage: data, split: {test_fraction: 0}}");
  EXPECT_TRUE(folder.remarks.empty());
  MemoryFolder apart({"train/a/1.jpg", "train/b/1.jpg", "val/a/2.jpg"});
  apart.build("{type: image_folder, storage: data, folder: train, test_folder: val}");
  EXPECT_EQ(apart.remarks, Strings{"dataset: 1 of 2 classes has no test image: 'b'; add some to "
                                   "dataset.test_folder"});
  apart.build("{type: image_folder, storage: data, folder: train, test_folder: ./train/}");
  EXPECT_EQ(apart.remarks, Strings{"dataset: dataset.test_folder is dataset.folder, so the tests "
                                   "are trained on"});
}

// Runs without root's right to read what nobody may, prints what is thrown, and ends.
template <class F>
[[noreturn]] void without_rights(const F& work) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &header, none) != 0) ::_exit(1);
  std::string message = "no error";
  try {
    work();
  } catch (const std::exception& error) {
    message = error.what();
  }
  std::fprintf(stderr, "%s", message.c_str());
  ::_exit(0);
}

TEST(ClassFolders, what_may_not_be_read_is_no_class_or_can_be_excluded) {
  TemporaryDirectory root;
  std::filesystem::permissions(root.path(), std::filesystem::perms(0755));
  for (const char* file : {"a/1.jpg", "b/1.jpg", "lost+found/x", ".Trash-0/files/1.jpg"}) {
    root.write(file, "x");
  }
  for (const char* folder : {"lost+found", ".Trash-0/files"}) {
    std::filesystem::permissions(root / folder, std::filesystem::perms::none);
  }
  TestDataset data(posix_storage(root.path()));
  const auto print_classes = [&](const std::string& options) {
    std::string text;
    for (const std::string& name :
         data.build("{type: image_folder, storage: data" + options + "}").classes()) {
      text += name + " ";
    }
    throw std::runtime_error(text);
  };
  EXPECT_EXIT(without_rights([&] { print_classes(""); }), testing::ExitedWithCode(0), "^a b $");
  root.write("c/deep/1.jpg", "x");
  std::filesystem::permissions(root / "c/deep", std::filesystem::perms::none);
  EXPECT_EXIT(without_rights([&] { print_classes(""); }), testing::ExitedWithCode(0),
              "^dataset: list .*/c/deep/: Permission denied: make it readable, or leave the class "
              "out with dataset.exclude=.c.$");
  EXPECT_EXIT(without_rights([&] { print_classes(", exclude: [c]"); }), testing::ExitedWithCode(0),
              "^a b $");
  for (const char* folder : {"lost+found", ".Trash-0/files", "c/deep"}) {
    std::filesystem::permissions(root / folder, std::filesystem::perms::owner_all);
  }
}

}  // namespace
}  // namespace stoker
