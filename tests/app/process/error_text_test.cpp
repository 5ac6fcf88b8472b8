#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/process/failure.h"

namespace stoker {
namespace {

TEST(ErrorText, a_hint_has_a_line_of_its_own) {
  const std::vector<std::pair<std::string, std::string>> messages{
      {"dataset: list a: No such file or directory; there are 'b' and 'c': mend `root` of storage "
       "'data' (put images there)",
       "error: dataset: list a: No such file or directory; there are 'b' and 'c'\n"
       "hint: mend `root` of storage 'data' (put images there)\n"},
      {"decoder: cut off: set x=1, or leave y out: it costs",
       "error: decoder: cut off\nhint: set "
       "x=1, or leave y out: it costs\n"},
      {"it is in use by another process (7); wait for its end",
       "error: it is in use by another process (7)\nhint: wait for its end\n"},
      {"dataset: shard a is cut: write the data set anew",
       "error: dataset: shard a is cut\nhint: write the data set anew\n"},
      {"device: unknown device 'gpu' (did you mean 'cuda'?)",
       "error: device: unknown device 'gpu'\nhint: did you mean 'cuda'?\n"}};
  for (const auto& [message, lines] : messages) EXPECT_EQ(error_text(message), lines);
}

TEST(ErrorText, what_is_no_hint_stays_where_it_is) {
  for (const std::string message :
       {"tier slow: write step-6200/state: No space left on device", "read a: Input/output error",
        "loader: batch_size 301 is larger than the 300 training samples", "a: the end is near",
        "a: end of file", "run: unknown key 'sede' (did you mean 'seed'?) (in the cell a)",
        "the ranks were told different things:\n  set a: set b to 1"}) {
    EXPECT_EQ(error_text(message), "error: " + message + "\n");
  }
}

TEST(ErrorText, reaches_a_terminal_without_what_would_control_it) {
  EXPECT_EQ(error_text("a\x1b[2Jb: use c"), "error: a\\x1b[2Jb\nhint: use c\n");
}

}  // namespace
}  // namespace stoker
