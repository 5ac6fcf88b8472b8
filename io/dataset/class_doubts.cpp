#include "io/dataset/class_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "io/core/config/suggestion.h"
#include "io/core/text/letters.h"
#include "io/dataset/data_parts.h"

namespace stoker {
namespace {

// Whether these are numbers that stand in the order of text: "1", "10", "2".
bool sorted_as_text(const std::vector<std::string>& names) {
  const auto is_number = [](const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == name.npos;
  };
  const auto shorter = [](const std::string& a, const std::string& b) {
    return a.size() < b.size();
  };
  return std::ranges::all_of(names, is_number) && !std::ranges::is_sorted(names, shorter);
}

// Latin letters without their accents, which are a part of the letter, or a mark behind it: macOS
// names files in the second way, and others in the first.
std::string without_accents(std::string_view text) {
  // From U+00C0 to U+017F; '?': no letter with an accent.
  constexpr std::string_view kLetters =
      "AAAAAA?CEEEEIIII?NOOOOO??UUUUY??aaaaaa?ceeeeiiii?nooooo??uuuuy?y"
      "AaAaAaCcCcCcCcDd??EeEeEeEeEeGgGgGgGgHh??IiIiIiIiI???JjKk?LlLlLl?"
      "???NnNnNn???OoOoOo??RrRrRrSsSsSsSsTtTt??UuUuUuUuUuUuWwYyYZzZzZz?";
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool mark =
        (byte == 0xcc && next >= 0x80) || (byte == 0xcd && next >= 0x80 && next < 0xb0);
    const size_t place = byte >= 0xc3 && byte <= 0xc5 && next >= 0x80
                             ? (byte - 0xc3) * 64 + next - 0x80
                             : kLetters.size();
    const char letter = place < kLetters.size() ? kLetters[place] : '?';
    if (!mark) plain += letter == '?' ? text[i] : letter;
    if (mark || letter != '?') ++i;
  }
  return plain;
}

// What is left of a name where neither case nor blanks nor accents count.
std::string folded(const std::string& name) { return lower_case(without_accents(trimmed(name))); }

}  // namespace

void doubt_classes(const std::vector<std::string>& classes, const Notify& notify) {
  if (!notify) return;
  if (classes.size() == 1) {
    notify(fmt::format("dataset: there is one class alone, '{}', so every answer is right",
                       classes.front()));
  }
  std::map<std::string, std::string> known;
  for (const std::string& name : classes) {
    const auto [other, fresh] = known.emplace(folded(name), name);
    if (trimmed(name).empty()) notify("dataset: a class has no name");
    if (fresh) continue;
    notify(fmt::format(
        "dataset: the classes '{}' and '{}' differ in the case of letters, in blanks or "
        "in accents alone: rename one of them if they are the same",
        other->second, name));
  }
  if (sorted_as_text(classes)) {
    notify(
        fmt::format("dataset: the classes are numbers in the order of text, so the label of a "
                    "class is its place and not its number: {}",
                    some_of(classes)));
  }
  const bool parts = std::ranges::all_of(classes, [](const std::string& name) {
    return names_training_part(name) || names_testing_part(name);
  });
  if (!parts || classes.empty()) return;
  notify(fmt::format("dataset: the classes are {}: are these the parts of a data set?",
                     some_of(classes)));
}

}  // namespace stoker
