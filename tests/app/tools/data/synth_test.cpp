#include "app/tools/data/synth.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "io/core/error.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

namespace stoker {
namespace {

SynthOptions small(const std::string& directory) {
  SynthOptions options;
  options.directory = directory;
  options.files = 25;
  options.classes = 4;
  options.image = {64, 64, 90, std::nullopt, 0.5};
  return options;
}

TEST(SynthDataset, is_an_image_folder) {
  TemporaryDirectory root;
  const SynthResult result = synth_dataset(small(root / "new"));
  EXPECT_EQ(result.files, 25);
  TestDataset data(posix_storage(root / "new"));
  const Dataset& dataset = data.build("{type: image_folder, storage: data}");
  EXPECT_EQ(dataset.classes().size(), 4u);
  EXPECT_EQ(dataset.size(Split::train), 25);
  EXPECT_EQ(dataset.info(Split::train, 0).key, "class_000/000000.jpg");
  uint64_t bytes = 0;
  for (int64_t i = 0; i < 25; ++i) bytes += dataset.info(Split::train, i).bytes;
  EXPECT_EQ(bytes, result.bytes);
}

TEST(SynthDataset, does_not_depend_on_the_threads) {
  TemporaryDirectory root;
  SynthOptions one = small(root / "one");
  one.threads = 1;
  SynthOptions four = small(root / "four");
  four.threads = 4;
  synth_dataset(one);
  synth_dataset(four);
  EXPECT_EQ(listing(*posix_storage(root / "one")), listing(*posix_storage(root / "four")));
  EXPECT_EQ(root.read("one/class_003/000007.jpg"), root.read("four/class_003/000007.jpg"));
}

TEST(SynthDataset, of_bytes_is_a_folder_of_sizes_that_were_asked_for) {
  TemporaryDirectory root;
  SynthOptions options = small(root / "new");
  options.kind = "bytes";
  options.image.median_bytes = ByteSize{5000};
  options.image.sigma = 0;
  EXPECT_EQ(synth_dataset(options).bytes, 25u * 5000);
  TestDataset data(posix_storage(root / "new"));
  const Dataset& dataset =
      data.build("{type: image_folder, storage: data, extensions: [.bin, .txt]}");
  EXPECT_EQ(dataset.size(Split::train), 25);
  EXPECT_EQ(dataset.info(Split::train, 0).bytes, 5000u);
  // Lines of a class are alike, and files are not.
  const std::string first = root.read("new/class_000/000000.bin");
  EXPECT_NE(first, root.read("new/class_000/000004.bin"));
  options.directory = root / "again";
  synth_dataset(options);
  EXPECT_EQ(first, root.read("again/class_000/000000.bin"));
}

TEST(SynthDataset, of_datums_is_a_database_of_pixels_of_one_size_with_labels) {
  TemporaryDirectory root;
  SynthOptions options = small(root / "new");
  options.kind = "datum";
  options.files = 2500;
  options.size = 16;
  const SynthResult result = synth_dataset(options);
  TestDataset data(posix_storage(root / "new"));
  const Dataset& dataset = data.build("{type: lmdb, storage: data}");
  EXPECT_EQ(dataset.size(Split::train), 2500);
  EXPECT_EQ(dataset.classes().size(), 4u);
  uint64_t bytes = 0;
  Buffer scratch;
  for (int64_t i = 0; i < 2500; ++i) {
    const SampleInfo info = dataset.info(Split::train, i);
    EXPECT_EQ(info.label, i % 4);
    EXPECT_EQ(info.object, "train_lmdb/data.mdb");
    bytes += info.bytes;
    EXPECT_EQ(dataset.read(Split::train, i, scratch).bytes.size(), 3u * 16 * 16);
  }
  EXPECT_EQ(bytes, result.bytes);
  options.directory = root / "again";
  synth_dataset(options);
  EXPECT_EQ(root.read("new/train_lmdb/data.mdb"), root.read("again/train_lmdb/data.mdb"));
}

TEST(SynthDataset, a_directory_with_files_is_refused) {
  TemporaryDirectory root;
  root.write("full/mine.txt", "x");
  EXPECT_EQ(error_of([&] { synth_dataset(small(root / "full")); }),
            "dataset synth: " + root / "full" + " is not empty; name a new directory");
}

TEST(SynthDataset, errors_and_progress_that_throws_end_it) {
  TemporaryDirectory root;
  root.write("file", "x");
  // Which thread meets the error first is not said.
  const std::string error = error_of([&] { synth_dataset(small(root / "file/below")); });
  EXPECT_TRUE(error.starts_with("write " + root / "file/below/class_0")) << error;
  EXPECT_TRUE(error.ends_with(".jpg: Not a directory")) << error;
  EXPECT_THROW(synth_dataset(small(root / "stopped"),
                             [](int64_t, int64_t) { throw std::domain_error("stop"); }),
               std::domain_error);
}

}  // namespace
}  // namespace stoker
