#include <gtest/gtest.h>

#include "io/core/system/standard_streams.h"

namespace stoker {
namespace {

TEST(Terminal, a_line_loses_its_last_parts_until_it_fits) {
  const std::string line = "step 3/9  loss 2.5  12 images/s";
  EXPECT_EQ(fitted(line, line.size()), line);
  EXPECT_EQ(fitted(line, line.size() - 1), "step 3/9  loss 2.5");
  EXPECT_EQ(fitted(line, 9), "step 3/9");
  EXPECT_EQ(fitted(line, 4), "step");
}

TEST(Terminal, a_character_takes_one_column_and_is_never_cut) {
  EXPECT_EQ(fitted("äöü", 3), "äöü");
  EXPECT_EQ(fitted("äöü", 2), "äö");
}

TEST(Terminal, ink_is_only_where_colours_are) {
  EXPECT_EQ(inked("fine", Ink::green, false), "fine");
  EXPECT_EQ(inked("fine", Ink::plain, true), "fine");
  EXPECT_EQ(inked("fine", Ink::green, true), "\x1b[1;32mfine\x1b[0m");
}

}  // namespace
}  // namespace stoker
