#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Any bytes as text, and back. A name in a file system consists of bytes, and nobody promises that
// they are UTF-8; JSON, YAML, pages and metrics have to be UTF-8. So names are made text where they
// enter the program (keys of a tier, paths of a configuration) and bytes again where they reach the
// kernel. Any thread.

// Whether the bytes are UTF-8, without noncharacters (U+FFFE), which writers of YAML replace.
bool is_text(std::string_view bytes);
// Each byte that is not part of UTF-8 becomes \xNN (two small hexadecimal digits), and so does a
// backslash before an x; all else stays as it is. Always UTF-8, and another one for other bytes.
std::string to_text(std::string_view bytes);
// For people: text stays as it is, and other bytes become what to_text() makes of them.
std::string readable(std::string_view bytes);
// What printable() does with line breaks and tabs.
enum class LineBreaks { escaped, kept };
// For a terminal: as readable(), but that what would control the terminal becomes \xNN, byte by
// byte: control characters, and what turns the direction of writing around.
std::string printable(std::string_view bytes, LineBreaks breaks = LineBreaks::escaped);
// The bytes that to_text() turned into this text.
std::string from_text(std::string_view text);
// The parts of a line of YAML values between separators that lie outside of quotes, braces and
// brackets; at least one, and any of them may be empty.
std::vector<std::string> parts_outside_brackets(std::string_view line, char separator);
// One word of a command for a shell, whatever the text has: in quotes where a shell would not leave
// it as it is.
std::string shell_word(const std::string& text);

// "1 worker", "4 workers"; "2 processes", "3 batches", "2 copies". The noun is one of them, in
// English, whose plural is regular; of several words ("test sample") the last changes. Any thread.
std::string plural_of(std::string_view noun);
std::string plural(std::integral auto count, std::string_view noun) {
  return std::to_string(count) + " " + (count == 1 ? std::string(noun) : plural_of(noun));
}

// Text compared as people compare it. Pure functions; any thread.

// A to Z as a to z; all other bytes as they are, whatever the locale.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Without the blanks at both ends: white space, and what cannot be told from it (spaces that do not
// break, ideographic ones, those without a width, marks of the byte order).
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks[] = {
      " ",  "\t",       "\r",           "\n",           "\v",
      "\f", "\xc2\xa0", "\xe2\x80\x8b", "\xe3\x80\x80", "\xef\xbb\xbf"};
  for (size_t before = text.size() + 1; text.size() < before;) {
    before = text.size();
    for (const std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size());
      if (text.ends_with(blank)) text.remove_suffix(blank.size());
    }
  }
  return text;
}

}  // namespace stoker
