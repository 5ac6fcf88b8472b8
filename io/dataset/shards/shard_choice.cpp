#include "io/dataset/shards/shard_choice.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/random.h"
#include "io/dataset/data_parts.h"
#include "io/dataset/shards/shard_index.h"
#include "io/dataset/shards/shard_writer.h"

namespace stoker {
namespace {

using Objects = std::vector<ObjectInfo>;
using Names = std::vector<std::string>;

// Shares are written as decimals: 0.8 + 0.1 of ten shards are nine.
constexpr double kRounding = 1e-9;

size_t share_of(double share, size_t count) {
  return std::min(count, static_cast<size_t>(share * static_cast<double>(count) + kRounding));
}

constexpr const char* kSpecial = "*?[\\";

// A pattern of keys, and which of the names that it stands for are there.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : text_(text), prefix_(text.substr(0, text.find_first_of("*?[\\{"))) {
    for (std::string& one : expand_braces(text)) {
      if (one.find_first_of(kSpecial) == std::string::npos) {
        exact_.emplace(std::move(one), false);
      } else {
        wild_.emplace_back(std::move(one), false);
      }
    }
  }

  // Sorted by key.
  Objects find(const Storage& tier) {
    Objects found;
    for (ObjectInfo& object : tier.list(prefix_)) {
      if (!object.key.ends_with(kShardIndexEnd) && fits(object.key))
        found.push_back(std::move(object));
    }
    return found;
  }
  // Of find(): names and patterns that braces stand for, and that no object fits.
  Names missing() const {
    Names names;
    for (const auto& [name, there] : exact_) {
      if (!there) names.push_back(name);
    }
    for (const auto& [pattern, there] : wild_) {
      if (!there) names.push_back(pattern);
    }
    std::ranges::sort(names);
    return names;
  }
  size_t alternatives() const { return exact_.size() + wild_.size(); }
  // " in tier 'data'; there are ...", for a message that no object fits.
  std::string others(const Storage& tier, const std::string& name) const;

 private:
  bool fits(const std::string& key) {
    bool fits = false;
    if (const auto exact = exact_.find(key); exact != exact_.end()) exact->second = fits = true;
    for (auto& [pattern, there] : wild_) {
      if (::fnmatch(pattern.c_str(), key.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0) {
        there = fits = true;
      }
    }
    return fits;
  }

  const std::string text_;
  const std::string prefix_;
  std::unordered_map<std::string, bool> exact_;
  std::vector<std::pair<std::string, bool>> wild_;
};

std::string Pattern::others(const Storage& tier, const std::string& name) const {
  constexpr size_t kLooked = 10'000;
  const size_t dot = text_.rfind('.');
  const std::string end = dot == std::string::npos ? "" : text_.substr(dot);
  const bool any_end = end.find_first_of(std::string(kSpecial) + "{}/") != std::string::npos;
  Names alike, all;
  for (const ObjectInfo& object : tier.list("")) {
    if (object.key.ends_with('/') || object.key.ends_with(kShardIndexEnd)) continue;
    Names& to = !any_end && object.key.ends_with(end) ? alike : all;
    if (to.size() < kLooked) to.push_back(object.key);
  }
  const Names missing = this->missing();
  return fmt::format(
      " in tier '{}'{}", name,
      what_is_there(missing.empty() ? text_ : missing.front(), alike.empty() ? all : alike));
}

Names keys_of(const Objects& objects) {
  Names keys;
  for (const ObjectInfo& object : objects) keys.push_back(object.key);
  return keys;
}

// What is asked of the patterns, and who is told.
class Choosing {
 public:
  Choosing(const Storage& tier, const ShardedOptions& options, const Notify& notify)
      : tier_(tier), options_(options), notify_(notify) {}

  ShardChoice choose() const {
    Pattern train(options_.train);
    ShardChoice choice{train.find(tier_), {}};
    if (choice.train.empty()) fail_none(train);
    remark_missing(train, "train", options_.train);
    if (options_.split) {
      remark_test_names(choice.train);
      divide(choice, *options_.split);
      return choice;
    }
    Pattern test(options_.test);
    choice.test = test.find(tier_);
    if (!choice.test.empty()) {
      remark_missing(test, "test", options_.test);
      check_apart(choice);
    } else if (!options_.test.empty() && options_.test != options_.usual_test) {
      remark(fmt::format("nothing is tested: no object fits dataset.test '{}'{}", options_.test,
                         test.others(tier_, options_.storage.name)));
    }
    remark_test_names(choice.train);
    return choice;
  }

 private:
  void remark(const std::string& text) const {
    if (notify_) notify_("dataset: " + text);
  }

  [[noreturn]] void fail_none(const Pattern& pattern) const {
    const std::string& tier = options_.storage.name;
    throw Error(ExitCode::environment,
                fmt::format("dataset: no object fits '{}'{}: set dataset.train to a pattern of "
                            "shards that are there, or write some by `{}` and set "
                            "storage.{}.root=DIRECTORY",
                            options_.train, pattern.others(tier_, tier), options_.made_by, tier));
  }

  void remark_missing(const Pattern& pattern, const char* option, const std::string& text) const {
    const Names missing = pattern.missing();
    if (missing.empty()) return;
    remark(fmt::format("{} of {} that dataset.{} '{}' names {} not in tier '{}': {}",
                       missing.size(), pattern.alternatives(), option, text,
                       missing.size() == 1 ? "is" : "are", options_.storage.name,
                       some_of(missing)));
  }

  void remark_test_names(const Objects& train) const {
    if (names_testing_part(options_.train)) return;
    Names names = keys_of(train);
    std::erase_if(names, [](const std::string& key) { return !names_testing_part(key); });
    if (names.empty() || names.size() == train.size()) return;
    remark(fmt::format(
        "'{}' takes {} that {} named for tests: {}: let dataset.train fit the others alone, and "
        "dataset.test these",
        options_.train, names.size() == 1 ? "a shard" : fmt::format("{} shards", names.size()),
        names.size() == 1 ? "is" : "are", some_of(names)));
  }

  void divide(ShardChoice& choice, const ShardSplit& split) const {
    Objects& all = choice.train;
    Random random(split.seed);
    shuffle(all, random);
    const size_t trains = share_of(split.train, all.size());
    const size_t tests = share_of(split.train + split.test, all.size());
    if (trains == 0) {
      throw Error(ExitCode::environment,
                  fmt::format("dataset: {} of {} shards is none: raise dataset.split.train, or "
                              "write more shards",
                              split.train, all.size()));
    }
    choice.test.assign(all.begin() + static_cast<std::ptrdiff_t>(trains),
                       all.begin() + static_cast<std::ptrdiff_t>(tests));
    if (split.test > 0 && choice.test.empty()) {
      remark(
          fmt::format("nothing is tested: {} of {} shards is none: raise dataset.split.test, "
                      "or write more shards",
                      split.test, all.size()));
    }
    all.resize(trains);
  }

  void check_apart(const ShardChoice& choice) const {
    const Names train = keys_of(choice.train);
    Names both = keys_of(choice.test);
    std::erase_if(both,
                  [&](const std::string& key) { return !std::ranges::binary_search(train, key); });
    if (both.empty()) return;
    if (both == train && choice.test.size() == train.size()) {  // who says so of both means it
      return remark("what is trained on is tested, too: " + some_of(both));
    }
    throw Error(
        ExitCode::config,
        fmt::format("dataset: {} fit{} dataset.train '{}' and dataset.test '{}', so what "
                    "is trained on would be tested: set dataset.train to a pattern of the "
                    "others, or dataset.test='' to test nothing",
                    some_of(both), both.size() == 1 ? "s" : "", options_.train, options_.test));
  }

  const Storage& tier_;
  const ShardedOptions& options_;
  const Notify& notify_;
};

}  // namespace

ShardChoice choose_shards(const Storage& tier, const ShardedOptions& options,
                          const Notify& notify) {
  return Choosing(tier, options, notify).choose();
}

namespace {

// A prefix as a part of a pattern (fnmatch) that means itself.
std::string literally(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[{\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

template <>
Registry<ShardFormatWriter>& Registry<ShardFormatWriter>::global() {
  static Registry registry;
  return registry;
}

std::string ShardFormatWriter::name_of(std::string_view /*key*/, int64_t /*label*/) const {
  return {};
}

void ShardFormatWriter::finish(Storage& to, const std::string& prefix,
                               const WrittenSet& written) const {
  std::string names;
  for (const std::string& name : written.classes) names += name + "\n";
  write_object(to, prefix + "classes.txt",
               {reinterpret_cast<const uint8_t*>(names.data()), names.size()});
}

ShardFormatWriter::Reading ShardFormatWriter::reading(const std::string& prefix,
                                                      const std::string& extension,
                                                      bool /*tests*/) const {
  if (prefix.empty()) return {};
  return {{"train", literally(prefix) + "train-*" + extension},
          {"test", literally(prefix) + "test-*" + extension},
          {"classes", prefix + "classes.txt"}};
}

namespace {

using Patterns = std::vector<std::string>;

constexpr uint64_t kMost = 1'000'000;
constexpr size_t kMostPatternBytes = 4096;  // no key is longer

void check_count(uint64_t count) {
  if (count <= kMost) return;
  throw Error(
      ExitCode::config,
      fmt::format("dataset: braces stand for more than {} objects: write * in their place", kMost));
}

// What stands between two braces. A value.
struct Group {
  size_t open;
  size_t close;
  Patterns parts;  // between its commas
};

// The first group that is closed.
std::optional<Group> first_group(const std::string& pattern) {
  std::vector<Group> open;
  std::optional<Group> first;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '{') {
      open.push_back({i, 0, {""}});
      continue;
    }
    if (c == '}' && !open.empty()) {
      Group group = open.back();
      open.pop_back();
      group.close = i;
      if (!open.empty()) {
        open.back().parts.back() += pattern.substr(group.open, i + 1 - group.open);
      }
      if (!first || group.open < first->open) first = group;
      if (open.empty()) return first;
      continue;
    }
    if (open.empty()) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == ',') {
      open.back().parts.emplace_back();
      continue;
    }
    open.back().parts.back() += c;
    if (c == '\\' && i + 1 < pattern.size()) open.back().parts.back() += pattern[++i];
  }
  return first;
}

// Of decimal digits, perhaps behind '-' and zeros.
bool read_number(const std::string& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_letter(const std::string& text) {
  return text.size() == 1 && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
}

// "000..009" or "a..c", both perhaps with "..step" behind. Nothing: it is none.
std::optional<Patterns> range_of(const std::string& text) {
  Patterns ends;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find("..", at), text.size());
    ends.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  int64_t step = 1, from = 0, to = 0;
  if (ends.size() < 2 || ends.size() > 3) return std::nullopt;
  if (ends.size() == 3 && (!read_number(ends[2], step) || step == 0)) return std::nullopt;
  const bool letters = is_letter(ends[0]) && is_letter(ends[1]);
  if (letters) {
    from = ends[0][0], to = ends[1][0];
  } else if (!read_number(ends[0], from) || !read_number(ends[1], to)) {
    return std::nullopt;
  }
  const bool padded = ends[0].starts_with('0') || ends[1].starts_with('0');
  const size_t width = padded && !letters ? std::max(ends[0].size(), ends[1].size()) : 0;
  const uint64_t stride = step < 0 ? 0 - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
  const uint64_t distance = from < to ? static_cast<uint64_t>(to) - static_cast<uint64_t>(from)
                                      : static_cast<uint64_t>(from) - static_cast<uint64_t>(to);
  check_count(distance / stride);
  Patterns range;
  for (uint64_t i = 0; i <= distance / stride; ++i) {
    const auto moved = static_cast<int64_t>(i * stride);
    const int64_t value = from < to ? from + moved : from - moved;
    range.push_back(letters ? std::string(1, static_cast<char>(value))
                            : fmt::format("{:0{}}", value, width));
  }
  return range;
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& pattern) {
  if (pattern.size() > kMostPatternBytes) {
    throw Error(ExitCode::config,
                fmt::format("dataset: a pattern has more than {} bytes", kMostPatternBytes));
  }
  const std::optional<Group> group = first_group(pattern);
  if (!group) return {pattern};
  const std::string before = pattern.substr(0, group->open);
  Patterns middle;
  size_t behind = group->close + 1;
  if (group->parts.size() > 1) {
    for (const std::string& part : group->parts) {
      for (std::string& one : expand_braces(part)) middle.push_back(std::move(one));
    }
  } else if (const auto range = range_of(group->parts[0])) {
    middle = *range;
  } else {
    middle = {"{"};
    behind = group->open + 1;
  }
  const Patterns ends = expand_braces(pattern.substr(behind));
  check_count(middle.size() * ends.size());
  Patterns all;
  for (const std::string& part : middle) {
    for (const std::string& end : ends) all.push_back(fmt::format("{}{}{}", before, part, end));
  }
  return all;
}

}  // namespace stoker
