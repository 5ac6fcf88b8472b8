#include "io/core/text/text.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>

namespace stoker {
namespace {

// Unicode 15, 23.7.
bool is_noncharacter(uint32_t code) {
  return (code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef);
}

// The number of bytes of the character at the beginning (Unicode 15, table 3-7). 0: the bytes are
// not a valid character.
size_t character_at(std::string_view bytes) {
  struct Form {
    uint8_t first, last;  // what it begins with
    uint8_t low, high;    // what comes second
    size_t size;
  };
  static constexpr std::array<Form, 8> kForms{{{0xc2, 0xdf, 0x80, 0xbf, 2},
                                               {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                               {0xe1, 0xec, 0x80, 0xbf, 3},
                                               {0xed, 0xed, 0x80, 0x9f, 3},
                                               {0xee, 0xef, 0x80, 0xbf, 3},
                                               {0xf0, 0xf0, 0x90, 0xbf, 4},
                                               {0xf1, 0xf3, 0x80, 0xbf, 4},
                                               {0xf4, 0xf4, 0x80, 0x8f, 4}}};
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (at(0) < 0x80) return 1;
  for (const Form& form : kForms) {
    if (at(0) < form.first || at(0) > form.last) continue;
    if (bytes.size() < form.size || at(1) < form.low || at(1) > form.high) return 0;
    uint32_t code = at(0) & (0x7fu >> form.size);
    for (size_t i = 1; i < form.size; ++i) {
      if (at(i) < 0x80 || at(i) > 0xbf) return 0;
      code = code << 6 | (at(i) & 0x3f);
    }
    return is_noncharacter(code) ? 0 : form.size;
  }
  return 0;
}

// Of a character as UTF-8: C0, DEL and C1; U+2028 to U+202E and U+2066 to U+2069.
bool controls_terminal(std::string_view character) {
  if (character.size() == 1) return character < " " || character == "\x7f";
  if (character.size() == 2) return character >= "\xc2\x80" && character <= "\xc2\x9f";
  return (character >= "\xe2\x80\xa8" && character <= "\xe2\x80\xae") ||
         (character >= "\xe2\x81\xa6" && character <= "\xe2\x81\xa9");
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  return text;
}

std::optional<char> byte_of(std::string_view escape) {
  if (escape.size() < 4 || !escape.starts_with("\\x")) return std::nullopt;
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t high = kDigits.find(escape[2]), low = kDigits.find(escape[3]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

}  // namespace

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t size = character_at(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string to_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t size = bytes.starts_with("\\x") ? 0 : character_at(bytes);
    if (size == 0) text += escaped(bytes.substr(0, 1));
    text += bytes.substr(0, size);
    bytes.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

std::string readable(std::string_view bytes) {
  return is_text(bytes) ? std::string(bytes) : to_text(bytes);
}

std::string printable(std::string_view bytes, LineBreaks breaks) {
  const std::string text = readable(bytes);
  std::string shown;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view character = rest.substr(0, character_at(rest));
    const bool kept = breaks == LineBreaks::kept && (character == "\n" || character == "\t");
    if (controls_terminal(character) && !kept) {
      shown += escaped(character);
    } else {
      shown += character;
    }
    rest.remove_prefix(character.size());
  }
  return shown;
}

std::string from_text(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  while (!text.empty()) {
    const std::optional<char> escaped = byte_of(text);
    bytes += escaped.value_or(text.front());
    text.remove_prefix(escaped ? 4 : 1);
  }
  return bytes;
}

std::vector<std::string> parts_outside_brackets(std::string_view line, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    if (c == separator && depth == 0 && quote == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string plural_of(std::string_view noun) {
  const bool copies = noun.ends_with('y') && !noun.ends_with("ay") && !noun.ends_with("ey");
  if (copies) return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  const bool hisses =
      noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") || noun.ends_with("sh");
  return std::string(noun) + (hisses ? "es" : "s");
}

}  // namespace stoker
