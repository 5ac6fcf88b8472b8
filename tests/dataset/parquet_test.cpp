#include <gtest/gtest.h>

#include "tests/dataset/parquet_tables.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"

// What is read of Parquet files, and what is said of those that can't be read.

namespace stoker {
namespace {

// A tier in memory that holds this shard.
struct ParquetShard : TestDataset {
  explicit ParquetShard(const std::string& contents) : TestDataset(make_storage("{type: memory}")) {
    put(tier(), "train.parquet", contents);
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: parquet, storage: data" + more + "}");
  }
  std::string refused(const std::string& more = "") {
    EXPECT_EQ(code_of([&] { build(more); }), ExitCode::data);
    return error_of([&] { build(more); });
  }
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

Texts some_texts(int64_t count) {
  Texts values;
  for (int64_t i = 0; i < count; ++i) values.emplace_back(record_of(i % 40, 10 + i % 7));
  return values;
}

std::vector<std::optional<int64_t>> some_labels(int64_t count) {
  std::vector<std::optional<int64_t>> labels;
  for (int64_t i = 0; i < count; ++i) labels.emplace_back(i % 3);
  return labels;
}

TEST(Parquet, binary_values_are_samples_by_every_codec) {
  for (const auto codec :
       {arrow::Compression::UNCOMPRESSED, arrow::Compression::SNAPPY, arrow::Compression::GZIP,
        arrow::Compression::ZSTD, arrow::Compression::LZ4, arrow::Compression::BROTLI}) {
    for (const bool dictionary : {true, false}) {
      const Texts values = some_texts(100);
      ParquetShard shard(
          parquet_file({{"png", binaries(values)}, {"label", int64s(some_labels(100))}},
                       {codec, 30, dictionary, true, dictionary}));
      const Dataset& data = shard.build();
      ASSERT_EQ(data.size(Split::train), 100);
      EXPECT_EQ(data.classes(), (std::vector<std::string>{"0", "1", "2"}));
      for (int64_t i = 0; i < 100; ++i) {
        EXPECT_EQ(read_sample(data, Split::train, i), *values[static_cast<size_t>(i)]);
        EXPECT_EQ(data.info(Split::train, i).label, i % 3);
        EXPECT_EQ(data.info(Split::train, i).bytes, values[static_cast<size_t>(i)]->size());
      }
      EXPECT_EQ(data.info(Split::train, 31).key, "train.parquet/31");
      EXPECT_EQ(data.info(Split::train, 31).object, "train.parquet");
    }
  }
}

TEST(Parquet, lists_of_bytes_are_samples_as_dlio_writes_them) {
  for (const auto codec : {arrow::Compression::UNCOMPRESSED, arrow::Compression::GZIP}) {
    const auto values = records(7, 50, 300);
    ParquetShard shard(parquet_file({{"data", byte_lists(values)}}, {codec, 16}));
    const Dataset& data = shard.build();
    ASSERT_EQ(data.size(Split::train), 50);
    EXPECT_EQ(data.classes().size(), 1u);
    for (int64_t i = 49; i >= 0; --i) {
      EXPECT_EQ(data.info(Split::train, i).bytes, 300u);
      EXPECT_EQ(read_sample(data, Split::train, i), values[static_cast<size_t>(i)]);
    }
  }
}

TEST(Parquet, an_image_of_hugging_face_is_found_in_its_struct) {
  const Texts values = some_texts(20);
  const ArrowArray image = arrow_value(arrow::StructArray::Make(
      {binaries(values), strings(Texts(20, "a.jpg"))}, std::vector<std::string>{"bytes", "path"}));
  ParquetShard shard(parquet_file({{"image", image}, {"label", int64s(some_labels(20))}}));
  for (const std::string more : {"", ", images: image.bytes, label: label"}) {
    const Dataset& data = shard.build(more);
    EXPECT_EQ(data.classes().size(), 3u);
    for (int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(read_sample(data, Split::train, i), *values[static_cast<size_t>(i)]);
    }
  }
  EXPECT_EQ(read_sample(shard.build(", images: image.path"), Split::train, 3), "a.jpg");
  EXPECT_EQ(shard.build(", label: ''").classes().size(), 1u);
}

TEST(Parquet, numbers_of_lists_are_given_as_the_processor_has_them) {
  const auto floats = std::make_shared<arrow::FloatBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), floats);
  const auto shorts = std::make_shared<arrow::Int16Builder>();
  const auto rows = std::make_shared<arrow::ListBuilder>(arrow::default_memory_pool(), shorts);
  arrow::ListBuilder planes(arrow::default_memory_pool(), rows);
  for (const float value : {1.5F, -2.F}) {
    arrow_ok(lists.Append());
    arrow_ok(floats->AppendValues({value, 2 * value}));
    arrow_ok(planes.Append());
    for (const int16_t number : {3, 4, 5}) {
      arrow_ok(rows->Append());
      arrow_ok(shorts->AppendValues({number, static_cast<int16_t>(-number)}));
    }
  }
  ParquetShard shard(parquet_file({{"floats", finished(lists)}, {"planes", finished(planes)}}));
  const float second[] = {-2.F, -4.F};
  EXPECT_EQ(read_sample(shard.build(", images: floats"), Split::train, 1),
            std::string(reinterpret_cast<const char*>(second), sizeof second));
  const int16_t first[] = {3, -3, 4, -4, 5, -5};
  EXPECT_EQ(read_sample(shard.build(", images: planes"), Split::train, 0),
            std::string(reinterpret_cast<const char*>(first), sizeof first));
}

TEST(Parquet, a_row_without_a_value_is_a_bad_sample_and_shifts_no_other) {
  const Texts values{"one", std::nullopt, "", "four", "five"};
  ParquetShard shard(
      parquet_file({{"png", binaries(values)}, {"label", int64s({0, 1, 1, std::nullopt, 1})}}));
  const Dataset& data = shard.build();
  ASSERT_EQ(data.size(Split::train), 5);
  EXPECT_EQ(read_sample(data, Split::train, 0), "one");
  EXPECT_EQ(why_bad(data, 1), "corrupt: it is null");
  EXPECT_EQ(why_bad(data, 2), "empty: its value has no bytes");
  expect_contains(why_bad(data, 3), "column 'label' (dataset.label)");
  EXPECT_EQ(read_sample(data, Split::train, 4), "five");
}

TEST(Parquet, a_null_in_a_struct_or_a_list_is_a_bad_sample) {
  const auto some = arrow::Buffer::FromString(std::string(1, '\x05'));  // not the second
  const auto image =
      std::make_shared<arrow::StructArray>(arrow::struct_({arrow::field("bytes", arrow::binary())}),
                                           3, arrow::ArrayVector{binaries({"a", "b", "c"})}, some);
  const auto numbers = std::make_shared<arrow::UInt8Builder>();
  arrow::FixedSizeListBuilder lists(arrow::default_memory_pool(), numbers, 2);
  for (int i = 0; i < 3; ++i) {
    arrow_ok(lists.Append());
    arrow_ok(numbers->Append('x'));
    arrow_ok(i == 1 ? numbers->AppendNull() : numbers->Append('y'));
  }
  ParquetShard shard(parquet_file({{"image", image}, {"list", finished(lists)}}));
  for (const auto& [column, good, why] :
       {std::tuple{"image.bytes", "c", "corrupt: it is null"},
        std::tuple{"list", "xy", "corrupt: there is a null in its list"}}) {
    const Dataset& data = shard.build(std::string(", images: ") + column);
    EXPECT_EQ(why_bad(data, 1), why);
    EXPECT_EQ(read_sample(data, Split::train, 2), good);
  }
}

TEST(Parquet, a_column_that_is_not_there_is_answered_by_those_that_are) {
  ParquetShard shard(parquet_file({{"png", binaries({"a"})},
                                   {"jpeg", binaries({"b"})},
                                   {"label", int64s({0})},
                                   {"name", strings({"c"})}}));
  expect_contains(shard.refused(", images: pgn"), "has no column 'pgn' (did you mean 'png'?)");
  const std::string offered = shard.refused(", images: pgn");
  expect_contains(offered, "'name' (string)");
  EXPECT_EQ(offered.find("'label'"), std::string::npos) << offered;  // would be refused, too
  expect_contains(shard.refused(), "2 of its columns have bytes or lists of numbers");
  expect_contains(shard.refused(), "set dataset.images to one of 'png' (binary), 'jpeg' (binary)");
  expect_contains(shard.refused(", images: label"),
                  "is int64, neither bytes nor a list of numbers");
  expect_contains(
      shard.refused(", images: png, label: name"),
      "is string, no whole number, which a class is: set dataset.label to one of 'label' (int64)");
  expect_contains(shard.refused(", images: png, label: class"), "set dataset.label");
}

TEST(Parquet, shards_that_differ_do_not_train_and_a_test_that_differs_is_left_out) {
  const Texts values = some_texts(6);
  const std::string labelled =
      parquet_file({{"png", binaries(values)}, {"label", int64s(some_labels(6))}});
  const std::string without = parquet_file({{"png", binaries(values)}});
  ParquetShard shard(labelled);
  put(shard.tier(), "train-1.parquet", without);
  expect_contains(shard.refused(), "train-1.parquet has its samples in column 'png' and no column");
  put(shard.tier(), "train-1.parquet", labelled);
  put(shard.tier(), "test.parquet", without);
  const Dataset& data = shard.build();
  EXPECT_EQ(data.size(Split::train), 12);
  EXPECT_EQ(data.size(Split::test), 0);
}

TEST(Parquet, tests_that_hold_their_labels_back_stop_no_training) {
  const Texts values = some_texts(6);
  ParquetShard shard(parquet_file({{"png", binaries(values)}, {"label", int64s(some_labels(6))}}));
  const std::vector<std::optional<int64_t>> none(6, -1);
  put(shard.tier(), "test.parquet",
      parquet_file({{"png", binaries(values)}, {"label", int64s(none)}}));
  const Dataset& data = shard.build();
  EXPECT_EQ(data.size(Split::train), 6);
  EXPECT_EQ(data.size(Split::test), 0);
}

TEST(Parquet, what_is_no_parquet_file_is_named) {
  const std::string whole = parquet_file({{"png", binaries(some_texts(50))}});
  for (const std::string& contents :
       {std::string(), std::string("PAR1"), std::string(10'000, 'x'),
        whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 1)}) {
    ParquetShard shard(contents);
    expect_contains(shard.refused(), "shard train.parquet can't be read as Parquet: ");
  }
}

TEST(Parquet, a_damaged_row_group_is_bad_and_the_others_are_not) {
  ParquetForm form{arrow::Compression::SNAPPY, 10, false, true, true};
  const Texts values = some_texts(30);
  std::string file = parquet_file({{"png", binaries(values)}}, form);
  const size_t in_the_second = file.find(*values[14]);
  ASSERT_NE(in_the_second, std::string::npos);
  file[in_the_second] ^= 1;
  ParquetShard shard(file);
  const Dataset& data = shard.build();
  for (int64_t i = 0; i < 30; ++i) {
    if (i / 10 == 1) {
      expect_contains(why_bad(data, i), "corrupt: row group 1: ");
    } else {
      EXPECT_EQ(read_sample(data, Split::train, i), *values[static_cast<size_t>(i)]);
    }
  }
}

TEST(Parquet, an_index_that_does_not_fit_its_shard_gives_no_bytes_of_another) {
  const std::string one = parquet_file({{"data", byte_lists(records(1, 20, 64))}});
  ParquetShard shard(one);
  const Dataset& data = shard.build();
  // In its place one of as many bytes, whose rows are shorter.
  std::string other = parquet_file({{"data", byte_lists(records(1, 20, 60))}});
  other.insert(4, one.size() - other.size(), '\0');
  put(shard.tier(), "train.parquet", other);
  expect_contains(why_bad(data, 3), "corrupt: row group 0: ");
}

}  // namespace
}  // namespace stoker
