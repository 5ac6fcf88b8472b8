#pragma once

#include <string>
#include <string_view>

// Text compared as people compare it. Pure functions; any thread.

namespace stoker {

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
