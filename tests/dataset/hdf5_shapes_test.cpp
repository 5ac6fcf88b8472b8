#include <gtest/gtest.h>

#include "io/core/error.h"
#include "io/decoder/decoder.h"
#include "tests/dataset/hdf5_shards.h"
#include "tests/support/errors.h"

// What HDF5 files that were made for somebody else say: other names, no classes, other shapes.

namespace stoker {
namespace {

// What is said of a data set that is not there.
std::string missing_in(const std::string& name, const std::string& more = "") {
  return error_of([&] { Hdf5Shards(hdf5_files().read(name)).build(more); });
}

TEST(Hdf5Shapes, a_data_set_that_is_missing_is_answered_by_those_that_are_there) {
  const std::string shard = "dataset: shard train.h5 has no data set ";
  const std::string images = ": name the one with the samples (dataset.images)";
  EXPECT_EQ(missing_in("refused-none.h5"), shard + "'images'; there is 'other'" + images);
  EXPECT_EQ(missing_in("refused-group.h5"),
            shard + "'images' (did you mean 'images/data'?); there is 'images/data'" + images);
  EXPECT_EQ(missing_in("refused-other-names.h5"),
            shard + "'images'; there are 'train/image' and 'train/label'" + images);
  EXPECT_EQ(missing_in("refused-without-offsets.h5"),
            shard +
                "'offsets'; there are 'images', 'keys' and 'labels': 'images' is a row of "
                "bytes: name the one that says where its samples begin (dataset.offsets)");
  const std::string labels =
      ": name the one with the numbers of the samples' classes (dataset.labels), or set "
      "dataset.labels='' if the first folder of a file's name is its class";
  EXPECT_EQ(missing_in("refused-without-labels.h5"),
            shard + "'labels' (did you mean 'label'?); there are 'label' and 'images'" + labels);
  EXPECT_EQ(missing_in("refused-other-names.h5", ", images: train/image"),
            shard + "'labels'; there are 'train/image' and 'train/label'" + labels);
  EXPECT_EQ(missing_in("rows-earliest.h5", ", target: map"),
            shard +
                "'map'; there are 'images' and 'labels': name the one that follows its samples "
                "(dataset.target, dataset.stats), or leave that out");
}

TEST(Hdf5Shapes, samples_without_a_class_are_none) {
  EXPECT_EQ(missing_in("refused-without-labels.h5", ", labels: ''"),
            "dataset: none of the 17 samples in 'train*.h5' can be used: train/0: unsupported: it "
            "has no label: a class is the number in data set '' (dataset.labels), or the first "
            "folder of the name in 'keys' (dataset.keys) or else of the file");
  Hdf5Shards negative(hdf5_files().read("refused-negative-labels.h5"));
  EXPECT_EQ(negative.build().classes(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(why_bad(*negative.dataset, 0),
            "corrupt: its label is -1, and that of the first class 0 (dataset.label_offset)");
  EXPECT_EQ(negative.dataset->info(Split::train, 0).label, -1);
  EXPECT_EQ(negative.dataset->info(Split::train, 2).label, 1);
  // The folder of the file, where there is one.
  Hdf5Shards folders(hdf5_files().read("refused-without-labels.h5"));
  put(folders.tier(), "cat/1.h5", hdf5_files().read("refused-without-labels.h5"));
  EXPECT_EQ(folders.build(", labels: '', train: '*/*.h5'").classes(),
            std::vector<std::string>{"cat"});
}

TEST(Hdf5Shapes, bytes_that_no_offset_reaches_are_told) {
  Hdf5Shards shards(hdf5_files().read("refused-short-offsets.h5"));
  for (int start = 0; start < 2; ++start) {
    EXPECT_EQ(shards.build().size(Split::train), 23);
    ASSERT_EQ(shards.dataset->ignored().size(), 1u);
    EXPECT_TRUE(shards.dataset->ignored()[0].ends_with(" bytes behind its last sample"));
    EXPECT_TRUE(shards.remarks.at(0).starts_with("dataset: passed over 1 that is no part"));
  }
}

// What the data set says of its samples, and what a decoder says to that.
std::string shape_of(const std::string& name) {
  Hdf5Shards shards(hdf5_files().read(name + "-earliest.h5"));
  if (name.starts_with("map")) shards.with_classes();
  const auto& arrays = shards.build(hdf5_options(name)).arrays();
  return arrays.empty() ? "" : text_of(arrays.at(0).arrays);
}
std::string decodes(const std::string& name, const std::string& decoder) {
  Hdf5Shards shards(hdf5_files().read(name + "-earliest.h5"));
  if (name.starts_with("map")) shards.with_classes();
  const Dataset& data = shards.build(hdf5_options(name));
  const auto component = parse_component<Decoder>(parse_yaml("{type: " + decoder + "}", "d.yaml"));
  try {
    check_arrays(data, component.type(), component.info().arrays);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::config);
    return error.what();
  }
  return "";
}

TEST(Hdf5Shapes, the_shape_of_a_sample_is_known) {
  EXPECT_EQ(shape_of("encoded"), "");
  EXPECT_EQ(shape_of("rows"), "8 x 10 x 3 uint8");
  EXPECT_EQ(shape_of("rows-deflate"), "8 x 10 x 3 uint8");
  EXPECT_EQ(shape_of("rows-planes"), "3 x 8 x 10 uint8");
  EXPECT_EQ(shape_of("rows-grey"), "8 x 10 uint8");
  EXPECT_EQ(shape_of("rows-flat"), "240 uint8");
  EXPECT_EQ(shape_of("rows-float"), "3 x 6 x 5 float32");
  EXPECT_EQ(shape_of("climate"), "6 x 6 x 5 float32");
  EXPECT_EQ(shape_of("map-rows"), "3 x 6 x 5 float32, 6 x 5 int16");
  EXPECT_EQ(shape_of("map-file"), "6 x 6 x 5 float32, 6 x 5 float32, 6 x 4 float32");
}

TEST(Hdf5Shapes, shapes_that_a_decoder_does_not_take_are_refused) {
  const std::string raw = "raw, height: 8, width: 10";
  const auto refused = [](const std::string& shape, const std::string& why) {
    return "dataset: a sample of train.h5 is " + shape + ", and decoder " + why;
  };
  EXPECT_EQ(decodes("rows", raw), "");
  EXPECT_EQ(decodes("rows-planes", raw),
            refused("3 x 8 x 10 uint8",
                    "raw takes 8 x 10 x 3 uint8: set decoder.height=8 decoder.width=10 "
                    "decoder.layout=nchw"));
  EXPECT_EQ(decodes("rows-planes", raw + ", layout: nchw"), "");
  EXPECT_NE(decodes("rows", raw + ", layout: nchw"), "");
  EXPECT_EQ(decodes("rows", "raw, height: 16, width: 5"),  // as many bytes
            refused("8 x 10 x 3 uint8",
                    "raw takes 16 x 5 x 3 uint8: set decoder.height=8 decoder.width=10"));
  EXPECT_EQ(decodes("encoded", raw), "");
  EXPECT_EQ(decodes("rows-float", "planes, height: 6, width: 5"), "");
  EXPECT_NE(decodes("rows-float", "planes, height: 5, width: 6"), "");
  EXPECT_EQ(decodes("rows", "turbojpeg"),
            refused("8 x 10 x 3 uint8",
                    "turbojpeg decodes files: set decoder.type=raw, which takes pixels"));
  EXPECT_EQ(decodes("rows", "bytes"), "");
}

TEST(Hdf5Shapes, shards_of_several_shapes_are_all_compared) {
  Hdf5Shards shards(hdf5_files().read("rows-earliest.h5"));
  put(shards.tier(), "train-1.h5", hdf5_files().read("rows-planes-earliest.h5"));
  const Dataset& data = shards.build();
  ASSERT_EQ(data.arrays().size(), 2u);
  EXPECT_EQ(data.arrays()[0].object, "train-1.h5");
  const auto raw =
      parse_component<Decoder>(parse_yaml("{type: raw, height: 8, width: 10}", "d.yaml"));
  EXPECT_TRUE(error_of([&] {
                check_arrays(data, "raw", raw.info().arrays);
              }).starts_with("dataset: a sample of train-1.h5 is 3 x 8 x 10 uint8, and"));
}

}  // namespace
}  // namespace stoker
