#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace stoker {

// One slip apart: a letter left out, put in, or another one, or two neighbours exchanged.
inline bool one_slip(const std::string& a, const std::string& b) {
  size_t same = 0;
  while (same < std::min(a.size(), b.size()) && a[same] == b[same]) ++same;
  const std::string rest_a = a.substr(same), rest_b = b.substr(same);
  const auto from = [](const std::string& text, size_t at) {
    return at > text.size() ? text : text.substr(at);
  };
  if (a.size() == b.size() + 1) return from(rest_a, 1) == rest_b;
  if (b.size() == a.size() + 1) return from(rest_b, 1) == rest_a;
  if (a.size() != b.size() || rest_a.empty()) return false;
  const bool exchanged = rest_a.size() > 1 && rest_a[0] == rest_b[1] && rest_a[1] == rest_b[0];
  return from(rest_a, 1) == from(rest_b, 1) || (exchanged && from(rest_a, 2) == from(rest_b, 2));
}

// What a hand, or an editor, makes of a word.
struct Slip {
  std::string text;
  bool near;  // one can see which word was meant
};

inline std::vector<Slip> slips_of(const std::string& word) {
  std::set<std::string> near, far;
  for (size_t i = 0; i < word.size(); ++i) {
    const std::string before = word.substr(0, i), after = word.substr(i + 1);
    const std::string other(1, word[i] == 'q' ? 'z' : 'q');
    near.insert({before + after, before + word[i] + word[i] + after, before + other + after});
    if (i + 1 < word.size()) near.insert(before + word[i + 1] + word[i] + after.substr(1));
  }
  if (word.size() > 3) near.insert(word.substr(0, (word.size() + 1) / 2));
  near.insert(word + word);
  far.insert({"7", "zzz", "true"});
  std::vector<Slip> slips;
  for (const std::string& text : near) slips.push_back({text, true});
  for (const std::string& text : far) slips.push_back({text, false});
  std::erase_if(slips, [&](const Slip& slip) { return slip.text == word || slip.text.empty(); });
  return slips;
}

}  // namespace stoker
