#include "io/core/text/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "io/core/config/config.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/core/text/json.h"

namespace stoker {
namespace {

TEST(Text, stays_what_it_is) {
  for (const char* text :
       {"", "a/b.jpg", "für", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "a\\b", "\\n"}) {
    EXPECT_TRUE(is_text(text)) << text;
    EXPECT_EQ(to_text(text), text);
    EXPECT_EQ(from_text(text), text);
  }
}

TEST(Text, each_byte_that_is_none_is_escaped) {
  EXPECT_EQ(to_text("caf\xe9.jpg"), "caf\\xe9.jpg");
  EXPECT_EQ(to_text("\xe2\x82"), "\\xe2\\x82");                    // cut
  EXPECT_EQ(to_text("\xc0\xaf"), "\\xc0\\xaf");                    // longer than need be
  EXPECT_EQ(to_text("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half a pair of UTF-16
  EXPECT_EQ(to_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(to_text("\xef\xbf\xbe"), "\\xef\\xbf\\xbe");           // a noncharacter
  EXPECT_EQ(to_text("\xef\xb7\x90"), "\\xef\\xb7\\x90");
  EXPECT_EQ(to_text("\xf3\xaf\xbf\xbf"), "\\xf3\\xaf\\xbf\\xbf");
  EXPECT_EQ(to_text("\\x41"), "\\x5cx41");
}

TEST(Text, nothing_that_controls_a_terminal_is_printed) {
  EXPECT_EQ(printable("f\xc3\xbcr \xe2\x82\xac a\\b \\x41"), "f\xc3\xbcr \xe2\x82\xac a\\b \\x41");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\x0ab\\x09c\\x0d");
  EXPECT_EQ(printable("\x1b[31m\x07\x7f"), "\\x1b[31m\\x07\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");                                             // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xaegpj.exe"), "\\xe2\\x80\\xaegpj.exe");  // right to left
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\xa8"), "\\xe2\\x81\\xa6\\xe2\\x80\\xa8");
  EXPECT_EQ(printable("caf\xe9\n"), "caf\\xe9\\x0a");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("a\nb\x1b", LineBreaks::kept), "a\nb\\x1b");
}

TEST(Text, what_is_no_escape_is_read_as_it_stands) {
  for (const char* text : {"\\", "\\x", "\\x4", "\\xAB", "\\xg0", "\\y41"}) {
    EXPECT_EQ(from_text(text), text);
  }
}

TEST(Text, any_bytes_come_back_and_no_two_are_the_same_text) {
  Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random.below(12), '\0');
    for (char& byte : bytes) {
      // Often what matters: leads, continuations, backslashes and hexadecimal digits.
      static constexpr std::string_view kLikely = "\\x5cf\xc3\xa9\xe2\x82\xed\xa0\xf0";
      byte = random.next() % 2 == 0 ? kLikely[random.below(kLikely.size())]
                                    : static_cast<char>(1 + random.below(255));
    }
    const std::string text = to_text(bytes);
    ASSERT_TRUE(is_text(text));
    ASSERT_EQ(from_text(text), bytes);
    // YAML, which a run's configuration goes through, and JSON.
    const std::string yaml = to_yaml(Node::text(text));
    ASSERT_EQ(parse_yaml("a: " + yaml, "test").find("a")->scalar, text) << yaml;
    ASSERT_EQ(parse_json(json_text(nlohmann::json(text))).get<std::string>(), text);
    ASSERT_EQ(parse_json(json_text(nlohmann::json(bytes))).get<std::string>(),
              is_text(bytes) ? bytes : text);
  }
}

TEST(Text, is_parted_outside_of_brackets_and_quotes) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts_outside_brackets("a={x: [1, 2]},b='c,d',,e", ','),
            Parts({"a={x: [1, 2]}", "b='c,d'", "", "e"}));
  EXPECT_EQ(parts_outside_brackets("", ','), Parts({""}));
}

TEST(Text, is_one_word_of_a_shell) {
  EXPECT_EQ(shell_word("runs/a-1.yaml"), "runs/a-1.yaml");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b; rm *"), "'a b; rm *'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST(Text, has_a_plural_for_any_number_but_one) {
  EXPECT_EQ(plural(1, "worker"), "1 worker");
  EXPECT_EQ(plural(0, "worker"), "0 workers");
  EXPECT_EQ(plural(2u, "process"), "2 processes");
  EXPECT_EQ(plural(3, "training batch"), "3 training batches");
  EXPECT_EQ(plural(2, "copy"), "2 copies");
  EXPECT_EQ(plural(2, "day"), "2 days");
}

TEST(Text, errors_are) { EXPECT_STREQ(Error(ExitCode::data, "read \xff").what(), "read \\xff"); }

}  // namespace
}  // namespace stoker
