#include "io/core/wire/sorted_table.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "io/core/error.h"

namespace stoker {
namespace {

using Entries = std::map<std::string, std::string>;

std::string written(const Entries& entries) {
  SortedTableWriter table;
  for (const auto& [key, value] : entries) table.add(key, value);
  return table.finish();
}

Entries read_table(const std::string& table) {
  Entries entries;
  read_sorted_table({reinterpret_cast<const uint8_t*>(table.data()), table.size()},
                    [&](std::string_view key, Bytes value) {
                      entries.emplace(key, std::string(value.begin(), value.end()));
                    });
  return entries;
}

Entries many() {
  Entries entries{{"", "header"}};
  for (int i = 0; i < 2000; ++i) {
    entries["layer." + std::to_string(i * 37) + ".weight"] =
        std::string(static_cast<size_t>(i % 90), 'v');
  }
  return entries;
}

TEST(SortedTable, what_was_written_is_read_over_many_blocks) {
  EXPECT_EQ(read_table(written(many())), many());
  EXPECT_EQ(read_table(written({{"", ""}})), (Entries{{"", ""}}));
  EXPECT_EQ(read_table(written({})), Entries{});
}

TEST(SortedTable, its_last_bytes_are_those_of_leveldb) {
  const std::string table = written({{"a", "b"}});
  EXPECT_EQ(table.substr(table.size() - 8), "\x57\xfb\x80\x8b\x24\x75\x47\xdb");
  // shared 0, added 1, value 1, "a", "b", one restart at 0, their number, not compressed
  EXPECT_EQ(table.substr(0, 14), std::string("\0\1\1ab\0\0\0\0\1\0\0\0\0", 14));
}

TEST(SortedTable, keys_have_to_rise) {
  SortedTableWriter table;
  table.add("b", "");
  EXPECT_THROW(table.add("a", ""), std::logic_error);
  EXPECT_THROW(table.add("b", ""), std::logic_error);
}

TEST(SortedTable, no_byte_of_a_block_can_change_unseen) {
  const std::string table = written(many());
  for (size_t at = 0; at + 48 < table.size(); at += 1009) {
    std::string damaged = table;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    // What nobody needs, the meta block, is not looked at.
    try {
      EXPECT_EQ(read_table(damaged), many()) << at;
    } catch (const BadSample& error) {
      EXPECT_EQ(error.reason() == BadReason::corrupt || error.reason() == BadReason::unsupported,
                true);
    }
  }
}

TEST(SortedTable, what_is_cut_or_something_else_is_refused) {
  const std::string table = written(many());
  for (size_t size = 0; size < table.size(); size += 97) {
    EXPECT_THROW(read_table(table.substr(0, size)), BadSample) << size;
  }
  EXPECT_THROW(
      read_table("name\tdtype\tshape\tshard\toffset\tsize\tcrc32c\nweight\tF32\t[2]\t0\t0\t8\n"),
      BadSample);
}

}  // namespace
}  // namespace stoker
