#pragma once

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

}  // namespace stoker
