#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "io/core/error.h"
#include "io/dataset/read_sample.h"
#include "io/dataset/shards/shard_writer.h"
#include "io/loader/lmdbio/database/datum.h"
#include "tests/support/datasets.h"
#include "tests/support/errors.h"
#include "tests/support/lmdb_database.h"
#include "tests/support/short_tests.h"

namespace stoker {
namespace {

using Words = std::vector<std::string>;

std::string datum_of(const std::string& image, int32_t label) {
  return encoded_datum({reinterpret_cast<const uint8_t*>(image.data()), image.size()}, label);
}

// A tier in memory with one database to train on.
struct LmdbShard : TestDataset {
  explicit LmdbShard(const std::string& file) : TestDataset(make_storage("{type: memory}")) {
    put(tier(), "cifar10_train_lmdb/data.mdb", file);
    put(tier(), "cifar10_train_lmdb/lock.mdb", "no shard");
  }
  explicit LmdbShard(const LmdbEntries& entries) : LmdbShard(made(entries)) {}
  static std::string made(const LmdbEntries& entries) {
    LmdbDatabase database;
    database.put(entries);
    return database.bytes();
  }
  const Dataset& build(const std::string& more = "") {
    return TestDataset::build("{type: lmdb, storage: data" + more + "}");
  }
  std::string bad(int64_t index) { return why_bad(*dataset, index); }
};

Words train_keys(const Dataset& data) { return keys(data, Split::train); }

TEST(Lmdb, caffes_databases_are_found_and_read) {
  const std::string large(300'000, 'x'), page(4000, 'y');
  LmdbShard shard({{"00000000_cat/1.jpg", datum_of(large, 2)},
                   {"00000001_dog/2.jpg", datum_of("small", 0)},
                   {"00000002_dog/3.jpg", datum_of(page, 1)},
                   {"00000003_cat/4.jpg", datum_of(large + page, 3)}});
  const Dataset& data = shard.build();
  EXPECT_EQ(train_keys(data), (Words{"cat/1.jpg", "dog/2.jpg", "dog/3.jpg", "cat/4.jpg"}));
  EXPECT_EQ(data.size(Split::test), 0);
  EXPECT_EQ(data.classes().size(), 4u);
  EXPECT_EQ(data.info(Split::train, 0).label, 2);
  EXPECT_EQ(data.info(Split::train, 1).label, 0);
  EXPECT_EQ(data.info(Split::train, 2).label, 1);
  EXPECT_EQ(data.info(Split::train, 3).label, 3);
  EXPECT_EQ(read_sample(data, Split::train, 0), large);
  EXPECT_EQ(read_sample(data, Split::train, 1), "small");
  EXPECT_EQ(read_sample(data, Split::train, 2), page);
  EXPECT_EQ(read_sample(data, Split::train, 3), large + page);
  EXPECT_TRUE(shard.remarks.empty());
}

TEST(Lmdb, a_record_that_is_read_in_another_way_is_unpacked_alike) {
  LmdbShard shard({{"00000000_cat/1.jpg", datum_of(std::string(300'000, 'x'), 2)},
                   {"00000001_dog/2.jpg", datum_of("small", 0)},
                   {"00000002_dog/3.jpg", datum_of("bad", -1)}});
  const Dataset& data = shard.build();
  const auto& records = dynamic_cast<const StoredRecords&>(data);
  EXPECT_EQ(&records.tier(), &shard.tier());
  for (const int64_t index : {0, 1}) {
    const Range place = records.place(Split::train, index);
    Buffer record, scratch;
    records.tier().read(data.info(Split::train, index).object, record, place);
    EXPECT_EQ(record.size(), data.info(Split::train, index).bytes);
    const EncodedSample sample = records.unpack(Split::train, index, record);
    EXPECT_EQ(std::string(sample.bytes.begin(), sample.bytes.end()),
              read_sample(data, Split::train, index));
    EXPECT_EQ(sample.label, data.read(Split::train, index, scratch).label);
  }
  Buffer nothing;
  EXPECT_EQ(error_of([&] { records.unpack(Split::train, 2, nothing); }), shard.bad(2).substr(9));
}

TEST(Lmdb, planes_of_pixels_are_given_as_the_decoder_raw_takes_them) {
  const std::string planes =
      std::string(5000, 'b') + std::string(5000, 'g') + std::string(5000, 'r');
  // 3 x 50 x 100
  LmdbShard shard(
      {{"0", std::string("\x08\x03\x10\x32\x18\x64\x22\x98\x75") + planes + "\x28\x01"}});
  const std::string pixels = read_sample(shard.build(", values: datum"), Split::train, 0);
  EXPECT_EQ(pixels.size(), planes.size());
  EXPECT_EQ(pixels.substr(0, 6), "rgbrgb");
  ASSERT_EQ(shard.dataset->arrays().size(), 1u);
  EXPECT_EQ(text_of(shard.dataset->arrays()[0].arrays), "50 x 100 x 3 uint8");
  EXPECT_EQ(shard.dataset->info(Split::train, 0).label, 1);
}

TEST(Lmdb, the_shapes_of_pixels_are_known_where_all_are_pixels) {
  const auto pixels = [](int64_t height, int64_t width) {
    const std::string rows(static_cast<size_t>(height * width * 3), 'x');
    return pixel_datum({reinterpret_cast<const uint8_t*>(rows.data()), rows.size()},
                       {height, width}, 0);
  };
  const auto shapes = [](const LmdbEntries& entries) {
    LmdbShard shard(entries);
    Words texts;
    for (const SampleArrays& samples : shard.build().arrays()) {
      texts.push_back(text_of(samples.arrays));
    }
    return texts;
  };
  EXPECT_EQ(shapes({{"a", pixels(32, 32)}, {"b", pixels(32, 32)}}), Words{"32 x 32 x 3 uint8"});
  EXPECT_EQ(shapes({{"a", pixels(16, 64)}, {"b", pixels(32, 32)}, {"c", pixels(8, 128)}}),
            (Words{"16 x 64 x 3 uint8", "32 x 32 x 3 uint8"}));
  EXPECT_EQ(shapes({{"a", pixels(32, 32)}, {"b", datum_of("image", 0)}}), Words());
}

TEST(Lmdb, values_that_are_image_files_have_the_folders_of_their_keys_as_classes) {
  const std::string jpeg = "\xff\xd8\xff" + std::string(9000, 'j');
  for (const std::string more : {"", ", values: raw"}) {
    LmdbShard shard({{"owl/1", jpeg}, {"00000007_cat/2", "\x89PNG"}});
    const Dataset& data = shard.build(more);
    EXPECT_EQ(data.classes(), (Words{"cat", "owl"}));
    EXPECT_EQ(train_keys(data), (Words{"cat/2", "owl/1"}));
    EXPECT_EQ(data.info(Split::train, 1).label, 1);
    EXPECT_EQ(read_sample(data, Split::train, 1), jpeg);
  }
}

TEST(Lmdb, a_datum_whose_label_is_in_front_or_amidst_is_read_too) {
  const std::string image(20'000, 'x');
  const std::string whole = datum_of(image, 4);
  const std::string unknown = "\x4a\xa0\x9c\x01" + image;  // field 9: 20,000 bytes
  LmdbShard shard({{"a", std::string("\x28\x03") + whole.substr(0, whole.size() - 4) + "\x38\x01"},
                   {"b", unknown + whole + unknown}});
  const Dataset& data = shard.build(", values: datum");
  EXPECT_EQ(data.info(Split::train, 0).label, 3);
  EXPECT_EQ(data.info(Split::train, 1).label, 4);
  EXPECT_EQ(read_sample(data, Split::train, 0), image);
  EXPECT_EQ(read_sample(data, Split::train, 1), image);
}

TEST(Lmdb, a_sample_that_can_not_be_used_is_a_bad_one) {
  LmdbShard shard({{"a", datum_of("image", -3)},
                   {"b", std::string("\x08\x01\x35\0\0\x80\x3f", 7)},
                   {"c", "\x22\x7f short"},
                   {"e", datum_of(std::string(5000, 'x'), 1)},
                   {"f", datum_of("image", 0)}});
  shard.build(", max_sample_bytes: 4000");
  EXPECT_EQ(shard.bad(0),
            "corrupt: its label is -3, and that of the first class 0 (dataset.label_offset)");
  EXPECT_EQ(shard.bad(1), "unsupported: its pixels are floats (float_data)");
  EXPECT_EQ(shard.bad(2), "corrupt: it is no Datum: a field ends behind its end");
  EXPECT_EQ(shard.bad(3), "too_large: it has 5007 bytes, above 4000 (dataset.max_sample_bytes)");
}

// Converters keep a length or a list of the keys beside the samples.
TEST(Lmdb, entries_that_are_no_sample_are_passed_over_and_told_at_each_start) {
  for (const bool datums : {true, false}) {
    const std::string first = datums ? "a" : "cat/a", last = datums ? "z" : "owl/z";
    LmdbShard shard({{first, datums ? datum_of("one", 0) : "one"},
                     {"__keys__", "\x80\x04]"},
                     {"num-samples", "2"},
                     {last, datums ? datum_of("two", 1) : "two"}});
    for (int i = 0; i < 2; ++i) {
      shard.remarks.clear();
      const Dataset& data = shard.build();
      EXPECT_EQ(train_keys(data), (Words{first, last}));
      EXPECT_EQ(read_sample(data, Split::train, 1), "two");
      EXPECT_EQ(shard.remarks, Words{"dataset: passed over 2 that are no part of a sample: "
                                     "'cifar10_train_lmdb/data.mdb: __keys__' and "
                                     "'cifar10_train_lmdb/data.mdb: num-samples'"});
    }
  }
}

TEST(Lmdb, a_database_without_samples_names_its_keys) {
  LmdbShard shard({{"image-000000001", "\x89PNG"}, {"label-000000001", "owl"}});
  EXPECT_EQ(error_of([&] { shard.build(); }),
            "dataset: there are no samples in '*train*/data.mdb' in tier 'data': no value of "
            "cifar10_train_lmdb/data.mdb is a Datum (dataset.values), and no key has a folder, "
            "which would be its class; there are the keys 'image-000000001' and 'label-000000001'");
}

TEST(Lmdb, the_index_is_kept) {
  LmdbShard shard({{"a", datum_of("image", 0)}});
  shard.build();
  const std::string index = get(shard.tier(), "cifar10_train_lmdb/data.mdb.index.json");
  EXPECT_NE(index.find("\"of\":\"lmdb 3, values auto\""), std::string::npos) << index;
}

// An error, or samples that lie inside the file.
TEST(Lmdb, no_damage_is_more_than_an_error_or_a_bad_sample) {
  std::mt19937 random(17);
  const auto below = [&](size_t most) { return random() % most; };
  LmdbEntries entries;
  for (int i = 0; i < 60; ++i) {
    const size_t bytes = i % 7 == 0 ? 9000 : 200 + below(300);
    entries.emplace_back(std::to_string(10'000'000 + i) + "_c/" + std::to_string(i),
                         datum_of(std::string(bytes, 'x'), i % 10));
  }
  const std::string whole = LmdbShard::made(entries);
  int refused = 0;
  int64_t good = 0, bad = 0;
  const auto fewer = static_cast<int>(stride(3));
  for (int mutation = 0; mutation < 2000 / fewer; ++mutation) {
    std::string file = whole;
    const size_t changes = 1 + below(4);
    for (size_t change = 0; change < changes; ++change) {
      // Where the structure is: the heads of pages, and their ends.
      const size_t page = below(file.size() / 4096) * 4096;
      const size_t at = page + (below(3) == 0 ? below(4096) : below(160));
      file[at] = static_cast<char>(below(2) == 0 ? random() : file[at] ^ (1 << below(8)));
    }
    if (below(20) == 0) file.resize(below(file.size()));
    try {
      LmdbShard shard(file);
      const Dataset& data = shard.build();
      for (int64_t i = 0; i < data.size(Split::train); ++i) {
        try {
          EXPECT_LE(read_sample(data, Split::train, i).size(), file.size());
          ++good;
        } catch (const BadSample&) {
          ++bad;
        }
      }
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ExitCode::bug) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 150 / fewer);
  EXPECT_GT(good, 10'000 / fewer);
  EXPECT_GT(bad, 10 / fewer);
}

// The writer of the same name, to a tier in memory.
struct LmdbWriting {
  std::unique_ptr<Storage> tier = make_storage("{type: memory}");
  const Words classes{"cat", "dog"};
  const std::unique_ptr<ShardFormatWriter> format =
      default_component<ShardFormatWriter>("lmdb").create({classes});
  std::unique_ptr<ShardWriter> writer = format->create(*tier, "train-0/data.mdb");
  void add(const std::string& key, int64_t label, const std::string& bytes) const {
    writer->add({key, label, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}});
  }
};

TEST(LmdbWriter, what_is_written_is_read_by_liblmdb_and_by_us) {
  LmdbWriting writing;
  LmdbEntries expected;
  for (int i = 0; i < 2500; ++i) {
    const std::string key = "c/" + std::to_string(i * 7919 % 2500);
    const std::string bytes(i % 100 == 0 ? 400'000 : 3000 + static_cast<size_t>(i), 'x');
    writing.add(key, i % 3, bytes);
    expected.emplace_back(fmt::format("{:08}_{}", i, key), datum_of(bytes, i % 3));
  }
  EXPECT_EQ(listing(*writing.tier), "");
  writing.writer->commit();
  const std::string file = get(*writing.tier, "train-0/data.mdb");
  EXPECT_TRUE(walk_by_liblmdb(file) == expected);
  LmdbShard shard(file);
  const Dataset& data = shard.build();
  ASSERT_EQ(data.size(Split::train), 2500);
  EXPECT_EQ(data.info(Split::train, 1).key, "c/419");
  EXPECT_EQ(data.info(Split::train, 1).label, 1);
  EXPECT_EQ(read_sample(data, Split::train, 1), std::string(3001, 'x'));
}

TEST(LmdbWriter, its_map_grows_with_what_is_written) {
  LmdbWriting writing;
  const std::string large(3'000'000, 'x');
  for (int i = 0; i < 30; ++i) writing.add("a", 0, large);
  writing.writer->commit();
  const LmdbEntries entries = walk_by_liblmdb(get(*writing.tier, "train-0/data.mdb"));
  ASSERT_EQ(entries.size(), 30u);
  EXPECT_EQ(entries[29].second, datum_of(large, 0));
}

TEST(LmdbWriter, a_sample_that_it_can_not_hold_is_named) {
  LmdbWriting writing;
  const std::string long_key(510, 'k');
  EXPECT_EQ(error_of([&] { writing.add(long_key, 0, "x"); }),
            "sample " + long_key + ": its key is longer than LMDB's 511 bytes");
  EXPECT_EQ(error_of([&] { writing.add("a", int64_t{1} << 40, "x"); }),
            "sample a: its label 1099511627776 does not fit into a Datum");
}

TEST(LmdbWriter, without_a_commit_nothing_is_left) {
  LmdbWriting writing;
  writing.add("a", 0, "x");
  writing.writer.reset();
  EXPECT_EQ(listing(*writing.tier), "");
}

}  // namespace
}  // namespace stoker
