#include "io/dataset/class_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>

#include "io/core/config/suggestion.h"
#include "io/core/text/letters.h"

namespace stoker {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// "seg_TrainSet2017" has the words seg, train and set.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  char before = ' ';
  for (const char c : name) {
    const bool begins = !is_letter(before) || (is_capital(c) && !is_capital(before));
    if (is_letter(c) && begins) words.emplace_back();
    if (is_letter(c)) words.back() += lower_case(std::string_view(&c, 1));
    before = c;
  }
  return words;
}

bool has_word(const std::string& name, std::initializer_list<std::string_view> wanted) {
  return std::ranges::any_of(words_of(name), [&](const std::string& word) {
    return std::ranges::find(wanted, word) != wanted.end();
  });
}

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

// What is left of a name where neither case nor blanks count.
std::string folded(const std::string& name) { return lower_case(trimmed(name)); }

}  // namespace

bool names_training_part(const std::string& name) { return has_word(name, {"train", "training"}); }

bool names_testing_part(const std::string& name) {
  return has_word(name, {"test", "testing", "val", "valid", "validation", "eval", "evaluation",
                         "dev", "holdout", "pred", "unlabeled", "unlabelled"});
}

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
    notify(
        fmt::format("dataset: the classes '{}' and '{}' differ in the case of letters or in "
                    "blanks alone: rename one of them if they are the same",
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
