#include "io/core/text/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using Rows = std::vector<std::vector<std::string>>;
using ::testing::ElementsAre;

Rows rows_of(std::string_view text) {
  Rows rows;
  CsvReader reader(text);
  for (std::vector<std::string> fields; reader.next(fields);) rows.push_back(fields);
  return rows;
}

TEST(Csv, a_row_that_was_written_is_read_again) {
  const std::vector<std::string> fields{"plain", "",  "a,b", "the \"cat\"", "a\nb",
                                        "a\rb",  " ", "\"",  "a\r\nb",      "é"};
  std::string text;
  for (const std::string& field : fields) text += (text.empty() ? "" : ",") + csv_field(field);
  EXPECT_EQ(rows_of(text + "\n"), Rows{fields});
  EXPECT_EQ(rows_of(text + "\r\n" + text), (Rows{fields, fields}));
}

TEST(Csv, only_what_needs_them_has_quotes) {
  EXPECT_EQ(csv_field("a b.jpg"), "a b.jpg");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
  EXPECT_EQ(csv_field("\xef\xbb\xbf"
                      "a"),
            "\"\xef\xbb\xbf"
            "a\"");
  EXPECT_EQ(csv_quoted("a"), "\"a\"");
}

TEST(Csv, marks_of_the_byte_order_are_passed_over_where_files_were_joined) {
  EXPECT_EQ(rows_of("\xef\xbb\xbf"
                    "a,1\n\xef\xbb\xbf"
                    "b,\xef\xbb\xbf"
                    "2\n\xef\xbb\xbf\"\xef\xbb\xbf"
                    "c\",3\n\xef\xbb\xbf"),
            (Rows{{"a", "1"},
                  {"b",
                   "\xef\xbb\xbf"
                   "2"},
                  {"\xef\xbb\xbf"
                   "c",
                   "3"}}));
}

TEST(Csv, rows_know_their_lines) {
  CsvReader reader("\xef\xbb\xbf\n\"a\nb\",1\r\n\nc,2");
  std::vector<std::string> fields;
  ASSERT_TRUE(reader.next(fields));
  EXPECT_THAT(fields, ElementsAre("a\nb", "1"));
  EXPECT_EQ(reader.line(), 2);
  ASSERT_TRUE(reader.next(fields));
  EXPECT_THAT(fields, ElementsAre("c", "2"));
  EXPECT_EQ(reader.line(), 5);
  EXPECT_FALSE(reader.next(fields));
}

TEST(Csv, a_broken_quote_is_refused_with_its_line) {
  for (const char* text : {"a,b\n\"c", "a,b\nc\"d", "a,b\n\"c\"d"}) {
    CsvReader reader(text);
    std::vector<std::string> fields;
    EXPECT_TRUE(reader.next(fields));
    try {
      reader.next(fields);
      ADD_FAILURE() << text;
    } catch (const CsvError& error) {
      EXPECT_EQ(error.line(), 2) << text;
    }
  }
}

TEST(Csv, a_list_is_split) {
  EXPECT_THAT(split_at("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split_at("a,b,c", ',', 2), ElementsAre("a", "b,c"));
  EXPECT_THAT(split_at("", ','), ElementsAre(""));
}

}  // namespace
}  // namespace stoker
