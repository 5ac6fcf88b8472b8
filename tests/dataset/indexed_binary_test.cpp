#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/datasets.h"
#include "tests/support/errors.h"

namespace stoker {
namespace {

std::string numbers(const std::vector<uint64_t>& values) {
  std::string bytes(values.size() * sizeof(uint64_t), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Indexed : TestDataset {
  Indexed(const std::vector<uint64_t>& offsets, const std::string& sizes)
      : TestDataset(make_storage("{type: memory}")) {
    put(tier(), "train/a.indexed_binary", "onethree");
    put(tier(), "train/a.indexed_binary.off.idx", numbers(offsets));
    put(tier(), "train/a.indexed_binary.sz.idx", sizes);
  }
  const Dataset& build() { return TestDataset::build("{type: indexed_binary, storage: data}"); }
};

TEST(IndexedBinary, records_lie_where_the_index_says) {
  Indexed indexed({3, 0}, numbers({5, 3}));
  const Dataset& data = indexed.build();
  EXPECT_EQ(data.size(Split::train), 2);
  EXPECT_EQ(data.classes().size(), 1u);
  EXPECT_EQ(read_sample(data, Split::train, 0), "three");
  EXPECT_EQ(read_sample(data, Split::train, 1), "one");
  EXPECT_EQ(data.info(Split::train, 1).key, "train/a.indexed_binary/1");
}

TEST(IndexedBinary, a_record_outside_of_its_file_is_a_bad_sample) {
  Indexed indexed({0, 4, UINT64_MAX}, numbers({3, 5, 3}));
  const Dataset& data = indexed.build();
  EXPECT_EQ(read_sample(data, Split::train, 0), "one");
  EXPECT_NE(why_bad(data, 1).find("its index says 5 bytes from 4 on"), std::string::npos);
  EXPECT_FALSE(why_bad(data, 2).empty());
}

TEST(IndexedBinary, an_index_that_contradicts_itself_is_refused) {
  Indexed uneven({0, 3}, numbers({3}));
  EXPECT_NE(error_of([&] { uneven.build(); }).find("2 offsets (.off.idx) and 1 sizes"),
            std::string::npos);
  Indexed cut({0}, "abc");
  EXPECT_NE(error_of([&] { cut.build(); }).find("no whole number of 64-bit numbers"),
            std::string::npos);
  Indexed missing({0}, numbers({3}));
  missing.tier().remove("train/a.indexed_binary.sz.idx");
  EXPECT_NE(error_of([&] { missing.build(); }).find("a.indexed_binary.sz.idx beside it"),
            std::string::npos);
}

}  // namespace
}  // namespace stoker
