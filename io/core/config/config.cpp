#include "io/core/config/config.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>

#include "io/core/config/plugin.h"
#include "io/core/error.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

std::string join(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

bool octal_surprise(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

struct Unit {
  const char* suffix;
  uint64_t factor;
};
constexpr Unit kSizes[] = {
    {"KiB", 1ull << 10}, {"MiB", 1ull << 20}, {"GiB", 1ull << 30}, {"TiB", 1ull << 40},
    {"k", 1000},         {"m", 1000000},      {"g", 1000000000},   {"", 1}};
constexpr Unit kTimes[] = {
    {"ms", 1}, {"s", 1000}, {"min", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};

// A whole number with one of the units' suffixes.
std::optional<uint64_t> parse_units(std::span<const Unit> units, const std::string& text) {
  for (const Unit& unit : units) {
    const std::string suffix = unit.suffix;
    if (!text.ends_with(suffix)) continue;
    uint64_t value = 0;
    if (!parse_number(text.substr(0, text.size() - suffix.size()), value)) return std::nullopt;
    if (value > UINT64_MAX / unit.factor) return std::nullopt;
    return value * unit.factor;
  }
  return std::nullopt;
}

// In the largest unit, of these in ascending order, of which it is a multiple.
std::string format_units(std::span<const Unit> units, uint64_t value) {
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (value != 0 && value % unit->factor == 0) {
      return std::to_string(value / unit->factor) + unit->suffix;
    }
  }
  return std::to_string(value) + (units.front().factor == 1 ? units.front().suffix : "");
}

// The home directory of a user; without a name, of ours. Empty: there is none.
std::string home_of(const std::string& user) {
  const char* const home = std::getenv("HOME");
  if (user.empty() && home != nullptr && *home != '\0') return home;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> room{};
  if (user.empty()) {
    ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found);
  } else {
    ::getpwnam_r(user.c_str(), &entry, room.data(), room.size(), &found);
  }
  return found == nullptr ? "" : found->pw_dir;
}

// STOKER_SHARE is what is installed with the library, unless somebody has set it.
std::optional<std::string> variable(const std::string& name) {
  if (const char* value = std::getenv(name.c_str())) return value;
  if (name == "STOKER_SHARE") return share_of_library();
  return std::nullopt;
}

}  // namespace

std::string Section::path() const {
  if (path_.empty()) return key_;
  return key_.empty() ? path_ : path_ + "." + key_;
}

Section Section::child(const std::string& key, const Node& node) const {
  Section section(node, path(), key, context_);
  section.parent_ = node_;
  return section;
}

Section Section::in_place(const Node& node) const { return {node, path_, key_, context_}; }

Section Section::with_hint(KeyHint hint) const {
  Section section = *this;
  section.hint_ = std::move(hint);
  return section;
}

void Section::fail_at(const Position& at, const std::string& what) const {
  const std::string here = path();
  throw Error(ExitCode::config, at.text() + ": " + (here.empty() ? "" : here + ": ") + what);
}

void Section::fail(const std::string& what) const {
  const std::string parent = path_.empty() ? "" : path_ + ": ";
  throw Error(ExitCode::config, node_->at.text() + ": " + parent + "'" + key_ + "' " + what);
}

void Section::fail_missing(const std::string& key, const std::string& more) const {
  std::vector<std::string> siblings;
  if (parent_ != nullptr && node_->at.line == 0) {
    for (const Node::Entry& entry : parent_->entries) {
      if (entry.key != key_) siblings.push_back(entry.key);
    }
  }
  const std::string close = did_you_mean(key_, siblings);
  if (close.empty()) fail_at(node_->at, "missing key '" + key + "'" + more);
  fail_at(node_->at, "it does not exist" + close + "; to define it, give '" + key + "'");
}

void Section::fail(const std::string& key, const std::string& what) const {
  const Node* value = node_->find(key);
  fail_at(value != nullptr ? value->at : node_->at, "'" + key + "' " + what);
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  return error == std::errc() && stop == end && !octal_surprise(text);
}
template bool parse_number(std::string_view text, uint16_t& out);
template bool parse_number(std::string_view text, int64_t& out);
template bool parse_number(std::string_view text, uint64_t& out);
template bool parse_number(std::string_view text, double& out);

bool Scalar<ByteSize>::parse(const std::string& text, ByteSize& out) {
  const std::optional<uint64_t> bytes = parse_units(kSizes, text);
  out.bytes = bytes.value_or(out.bytes);
  return bytes.has_value();
}

std::string Scalar<ByteSize>::format(const ByteSize& value) {
  return format_units(std::span(kSizes).first(4), value.bytes);
}

bool Scalar<Duration>::parse(const std::string& text, Duration& out) {
  // "ms" ends with the "s" of seconds: the list has it first.
  const std::optional<uint64_t> ms = parse_units(kTimes, text);
  if (!ms || *ms > INT64_MAX) return false;
  out.ms = static_cast<int64_t>(*ms);
  return true;
}

std::string Scalar<Duration>::format(const Duration& value) {
  return format_units(kTimes, static_cast<uint64_t>(value.ms));
}

bool Scalar<AutoCount>::parse(const std::string& text, AutoCount& out) {
  constexpr int64_t kMost = 1024;
  int64_t count = 0;
  const bool number = parse_number(text, count) && count >= 1 && count <= kMost;
  if (text != word && !number) return false;
  out.count = number ? count : 0;
  return true;
}

std::string Scalar<AutoCount>::format(const AutoCount& value) {
  return value.count == 0 ? word : std::to_string(value.count);
}

bool Scalar<Share>::parse(const std::string& text, Share& out) {
  const bool percent = text.ends_with('%');
  double value = 0;
  if (!parse_number(std::string_view(text).substr(0, text.size() - percent), value)) return false;
  if (percent) value /= 100;
  const double most = percent ? std::numeric_limits<double>::max() : 1;
  if (!(value >= 0 && value <= most)) return false;
  out.value = value;
  return true;
}

std::string Scalar<Share>::format(const Share& value) {
  return fmt::format("{}%", 100 * value.value);
}

bool Scalar<Path>::parse(const std::string& text, Path& out) {
  std::string result;
  size_t at = 0;
  while (at < text.size()) {
    const size_t dollar = text.find("${", at);
    result += from_text(text.substr(at, dollar - at));
    if (dollar == std::string::npos) break;
    const size_t close = text.find('}', dollar);
    if (close == std::string::npos) return false;
    std::string name = text.substr(dollar + 2, close - dollar - 2);
    const size_t colon = name.find(":-");
    const std::string fallback = colon == std::string::npos ? "" : name.substr(colon + 2);
    name = name.substr(0, colon);
    const std::optional<std::string> value = variable(name);
    if (!value && colon == std::string::npos) return false;
    result += value.value_or(fallback);
    at = close + 1;
  }
  out.value = with_home(result);
  return !result.empty();
}

std::string with_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  const size_t end = std::min(path.find('/'), path.size());
  const std::string home = home_of(path.substr(1, end - 1));
  return home.empty() ? path : home + path.substr(end);
}

FieldReader::FieldReader(const Section& section) : section_(section) {
  if (section.node().kind == Node::Kind::mapping || section.node().kind == Node::Kind::null) return;
  section.fail("must be a mapping, e.g. {key: value}");
}

void FieldReader::finish() const {
  for (const Node::Entry& entry : section_.node().entries) {
    if (std::find(seen_.begin(), seen_.end(), entry.key) != seen_.end()) continue;
    const std::string hint = section_.hint(entry.key);
    section_.fail_at(entry.at, "unknown key '" + entry.key + "'" +
                                   (hint.empty() ? suggestion(entry.key, seen_) : hint));
  }
  if (wrong_) std::rethrow_exception(wrong_);
  if (missing_.empty()) return;
  // Where an override made the mapping, other overrides can complete it.
  const Position& at = section_.node().at;
  std::string words;
  for (const std::string& key : missing_) {
    if (at.source != nullptr && at.line == 0) words += " " + section_.path() + "." + key + "=...";
  }
  section_.fail_missing(missing_.front(), words.empty() ? "" : ": add" + words);
}

namespace config_detail {

const std::string& scalar_text(const Section& at, std::string_view expected) {
  const Node& node = at.node();
  if (node.kind == Node::Kind::scalar) return node.scalar;
  const char* got = node.kind == Node::Kind::sequence  ? "a list"
                    : node.kind == Node::Kind::mapping ? "a mapping"
                    : expected == Scalar<Path>::expected
                        ? "nothing, as ~ alone is in YAML: the home directory is ~/"
                        : "nothing";
  at.fail(fmt::format("must be {}, got {}", expected, got));
}

std::string enum_expected(const std::vector<std::string>& names) { return "one of " + join(names); }

void fail_expected(const Section& at, std::string_view expected,
                   const std::vector<std::string>& words) {
  const std::string& text = at.node().scalar;
  std::string why = did_you_mean(text, words);
  if (octal_surprise(text)) why = " (a leading zero is ambiguous: drop it)";
  if (expected == Scalar<Path>::expected) why = " (is the ${VARIABLE} in it set?)";
  at.fail(fmt::format("must be {}, got '{}'{}", expected, text, why));
}

static void refuse_quotes(const Section& at, std::string_view expected) {
  const Node& node = at.node();
  if (!node.quoted) return;
  at.fail(
      fmt::format("must be {}, got the text \"{}\": leave out the quotes", expected, node.scalar));
}

void fail_no_list(const Section& at) {
  const Node& node = at.node();
  const bool place = !node.entries.empty() && node.entries.front().key == "0";
  if (node.kind != Node::Kind::mapping || !place) at.fail("must be a list, e.g. [a, b]");
  // An override of a place in a list that is not in the file.
  Node list(Node::Kind::sequence, {});
  for (const Node::Entry& entry : node.entries) list.items.push_back(entry.value);
  at.fail("is not in the file, so that no place of it can be changed: set all of it, such as " +
          at.path() + "=" + to_yaml(list));
}

std::string limits_text(Limits limits) {
  const bool low = std::isfinite(limits.min), high = std::isfinite(limits.max);
  if (low && high) return fmt::format(" from {} to {}", limits.min, limits.max);
  if (low) return fmt::format(" of at least {}", limits.min);
  if (high) return fmt::format(" of at most {}", limits.max);
  return "";
}

void read(const Section& at, bool& out, Limits) {
  const std::string& text = scalar_text(at, "true or false");
  if (text != "true" && text != "false") fail_expected(at, "true or false", {"true", "false"});
  refuse_quotes(at, "true or false");
  out = text == "true";
}

template <class Number>
void read(const Section& at, Number& out, Limits limits) {
  const char* expected = std::is_integral_v<Number> ? "an integer" : "a number";
  const std::string& text = scalar_text(at, expected);
  Number value{};
  if (!parse_number(text, value)) fail_expected(at, expected, {});
  refuse_quotes(at, expected);
  const double number = static_cast<double>(value);
  if (!(number >= limits.min && number <= limits.max)) {
    at.fail(fmt::format("must be {}{}, got {}", expected, limits_text(limits), text));
  }
  out = value;
}
template void read(const Section& at, int64_t& out, Limits limits);
template void read(const Section& at, uint64_t& out, Limits limits);
template void read(const Section& at, double& out, Limits limits);

void read(const Section& at, std::string& out, Limits) { out = scalar_text(at, "text"); }

void read(const Section& at, TierName& out, Limits) {
  const std::string& name = scalar_text(at, "the name of a tier under storage:");
  if (at.context() != nullptr) {
    const std::vector<std::string>& tiers = at.context()->tiers;
    if (std::find(tiers.begin(), tiers.end(), name) == tiers.end()) {
      at.fail("names no tier under storage:, got '" + name + "'" + suggestion(name, tiers));
    }
  }
  out.name = name;
}

Node dump(bool value) { return Node::text(value ? "true" : "false"); }
Node dump(int64_t value) { return Node::text(std::to_string(value)); }
Node dump(uint64_t value) { return Node::text(std::to_string(value)); }
// YAML 1.1, and so PyYAML, takes 3e-05 for a text: its numbers with an exponent have a point.
Node dump(double value) {
  std::string text = fmt::format("{}", value);
  const size_t exponent = text.find('e');
  const bool whole = exponent != text.npos && text.find('.') == text.npos;
  if (whole) text.insert(exponent, ".0");
  return Node::text(text);
}
Node dump(const std::string& value) {
  Node node = Node::text(value);
  node.quoted = !is_plain_text(value);
  return node;
}
Node dump(const TierName& value) { return dump(value.name); }

}  // namespace config_detail
}  // namespace stoker
