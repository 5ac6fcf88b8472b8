#include "io/dataset/class_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/text/text.h"
#include "io/dataset/data_parts.h"

namespace stoker {
namespace {

// Nothing: it does not exist.
std::optional<std::string> find_text(const Storage& tier, const std::string& key) {
  Buffer text;
  try {
    tier.read(key, text);
  } catch (const IoError& error) {
    if (error.errno_value() != ENOENT) throw;
    return std::nullopt;
  }
  return std::string(text.bytes().begin(), text.bytes().end());
}

// The lines of a text without what an editor puts there: a byte order mark, the ends of lines, and
// empty lines at its end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.emplace_back(trimmed(line));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

[[noreturn]] void fail_absent(const Storage& tier, const std::string& key) {
  std::vector<std::string> there;
  for (const ObjectInfo& object : tier.list(key.substr(0, key.rfind('/') + 1))) {
    if (object.key.ends_with(".txt")) there.push_back(object.key);
  }
  throw Error(ExitCode::environment,
              fmt::format("dataset: there is no object '{}', which should name the classes{}: set "
                          "dataset.classes",
                          key, there.empty() ? "" : what_is_there(key, there)));
}

using Label = LabelUses::const_iterator;

// The label behind the widest gap, where it is so wide that the label can't be meant with so few
// samples; the end: there is none. begin: the lowest that is not below `first`.
Label find_far(const LabelUses& labels, Label begin, int64_t first) {
  constexpr int64_t kFar = 10;
  const int64_t last = std::prev(labels.end())->first;
  int64_t samples = 0, widest = 0;
  Label behind = begin, below = begin;
  for (Label each = begin; each != labels.end(); below = each++) {
    samples += each->second.samples;
    if (each->first - below->first - 1 <= widest) continue;
    widest = each->first - below->first - 1;
    behind = each;
  }
  if (last - first >= samples) {
    if ((begin->first - first) / kFar > last - begin->first) return begin;
    if (behind != begin && widest / kFar > std::prev(behind)->first - first) return behind;
  }
  return last - first < kMaxClasses ? labels.end() : labels.lower_bound(first + kMaxClasses);
}

[[noreturn]] void fail_far(const LabelUses& labels, Label far, Label begin, int64_t first) {
  const auto& [label, use] = *far;
  const std::string has =
      use.samples == 1 ? use.key + " has"
                       : fmt::format("{} and {} more samples have", use.key, use.samples - 1);
  const std::string others =
      far == begin ? fmt::format("no label is lower: set dataset.label_offset={}", label)
                   : fmt::format(
                         "the labels below end at {}: repair it, leave the sample out, or name all "
                         "classes in dataset.classes",
                         std::prev(far)->first);
  const auto classes = static_cast<uint64_t>(std::prev(labels.end())->first - first) + 1;
  throw Error(ExitCode::data, fmt::format("dataset: {} label {}, which makes {} classes, and {}",
                                          has, label, classes, others));
}

// Names of the classes without a sample.
std::vector<std::string> unused(const std::vector<std::string>& classes, const LabelUses& labels) {
  std::vector<std::string> names;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (!labels.contains(static_cast<int64_t>(i))) names.push_back(classes[i]);
  }
  return names;
}

}  // namespace

std::vector<std::string> read_class_names(const Storage& tier, const std::string& key) {
  if (key.empty()) return {};
  const std::optional<std::string> text = find_text(tier, key);
  if (!text && key != kClassNames) fail_absent(tier, key);
  if (!text) return {};
  std::vector<std::string> names = lines_of(*text);
  std::map<std::string, size_t> lines;
  const auto refuse = [&](size_t line, const std::string& why) {
    throw Error(ExitCode::data, fmt::format("dataset: {}:{}: {}", key, line, why));
  };
  if (names.empty()) refuse(1, "names no class: write a name on each line, or remove it");
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      refuse(i + 1,
             "is empty, and each line names the class of a label: remove the line, or name "
             "the class");
    }
    if (names[i].find('\0') != std::string::npos) refuse(i + 1, "is no text: write it as UTF-8");
    names[i] = to_text(names[i]);
    const auto [first, is_new] = lines.emplace(names[i], i + 1);
    if (!is_new) {
      refuse(i + 1, fmt::format("names class '{}' again, as line {} does: each line names another "
                                "class",
                                names[i], first->second));
    }
  }
  return names;
}

std::vector<std::string> numbered_classes(const LabelUses& labels, int64_t first) {
  std::vector<std::string> classes;
  const Label begin = labels.lower_bound(first);
  if (begin == labels.end()) return classes;
  const Label far = find_far(labels, begin, first);
  if (far != labels.end()) fail_far(labels, far, begin, first);
  for (int64_t i = first; i <= std::prev(labels.end())->first; ++i) {
    classes.push_back(std::to_string(i));
  }
  return classes;
}

void check_first_label(const LabelUses& labels, size_t classes, int64_t first) {
  if (labels.empty()) return;
  const int64_t lowest = labels.begin()->first, highest = std::prev(labels.end())->first;
  if (lowest != first + 1 || highest - lowest + 1 != static_cast<int64_t>(classes)) return;
  throw Error(ExitCode::config,
              fmt::format("dataset: labels run from {} to {}, and {} classes are named: set "
                          "dataset.label_offset={}",
                          lowest, highest, classes, lowest));
}

void remark_classes(const std::vector<std::string>& classes, const LabelUses& labels, bool numbered,
                    const std::string& rule, const Notify& notify) {
  if (!notify || labels.empty()) return;
  const auto& [label, use] = *labels.begin();
  const std::vector<std::string> without = unused(classes, labels);
  if (labels.size() == 1 && use.samples > 1) {
    notify(
        fmt::format("dataset: all {} training samples are of one class, '{}', so there is "
                    "nothing to learn: {}",
                    use.samples, classes[static_cast<size_t>(label)], rule));
  } else if (!without.empty()) {
    // Numbers that begin at 1 are the common case.
    const std::string begins =
        numbered && label > 0 ? fmt::format(": labels begin at {0}: set dataset.label_offset={0}",
                                            classes[static_cast<size_t>(label)])
                              : "";
    notify(fmt::format("dataset: {} of {} classes {} no training sample: {}{}", without.size(),
                       classes.size(), without.size() == 1 ? "has" : "have", some_of(without),
                       begins));
  }
}

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
