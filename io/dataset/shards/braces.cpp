#include "io/dataset/shards/braces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "io/core/error.h"

namespace stoker {
namespace {

using Patterns = std::vector<std::string>;

constexpr uint64_t kMost = 1'000'000;
constexpr size_t kMostBytes = 4096;  // no key is longer

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
  if (pattern.size() > kMostBytes) {
    throw Error(ExitCode::config,
                fmt::format("dataset: a pattern has more than {} bytes", kMostBytes));
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
