#include "io/core/config/node.h"

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>

#include "io/core/config/plugin.h"
#include "io/core/config/suggestion.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/core/text/text.h"

namespace stoker {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxNodes = 10000;

[[noreturn]] void fail(const Position& at, const std::string& what) {
  throw Error(ExitCode::config, at.text() + ": " + what);
}

// yaml-cpp's own tree resolves aliases, accepts duplicate keys and forgets both, so the tree is
// built from its events.
class TreeBuilder final : public YAML::EventHandler {
 public:
  // lines: whether the source is a file.
  TreeBuilder(const std::string& source, bool lines)
      : source_(std::make_shared<const std::string>(source)), lines_(lines) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    reject_anchor(mark, anchor);
    put({Node::Kind::null, position(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(position(mark), "aliases (*name) are not accepted: write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    reject_anchor(mark, anchor);
    reject_tag(mark, tag);
    if (!is_text(value)) fail(position(mark), "a character that is not valid (such as U+FFFE)");
    const bool quoted = tag == "!";
    const bool null = !quoted && (value == "null" || value == "~" || value.empty());
    put({null ? Node::Kind::null : Node::Kind::scalar, position(mark), value, quoted});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  Node take() { return std::move(root_); }
  Position position(const YAML::Mark& mark) const {
    if (!lines_) return {source_, 0, 0};
    return {source_, mark.line + 1, mark.column + 1};
  }

 private:
  struct Level {
    Node node;
    bool has_key = false;
    Node key = {};
  };

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    reject_anchor(mark, anchor);
    reject_tag(mark, tag);
    if (levels_.size() >= kMaxDepth) fail(position(mark), "nested deeper than 32 levels");
    levels_.push_back({.node = {kind, position(mark)}});
  }

  void close() {
    Node node = std::move(levels_.back().node);
    levels_.pop_back();
    put(std::move(node));
  }

  void put(Node node) {
    if (++nodes_ > kMaxNodes) fail(node.at, "more than 10000 values");
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == Node::Kind::sequence) {
      level.node.items.push_back(std::move(node));
    } else if (!level.has_key) {
      if (node.kind != Node::Kind::scalar) fail(node.at, "a key must be plain text");
      if (level.node.find(node.scalar) != nullptr) {
        fail(node.at, "key '" + node.scalar + "' is given twice");
      }
      level.key = std::move(node);
      level.has_key = true;
    } else {
      level.node.entries.push_back({level.key.scalar, level.key.at, std::move(node)});
      level.has_key = false;
    }
  }

  void reject_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) fail(position(mark), "anchors (&name) are not accepted: write the value out");
  }
  void reject_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      fail(position(mark), "tags (" + tag + ") are not accepted");
    }
  }

  std::shared_ptr<const std::string> source_;
  bool lines_;
  std::vector<Level> levels_;
  Node root_;
  size_t nodes_ = 0;
};

bool is_flow(const Node& node) {
  const auto large = [](const Node& item) { return item.entries.size() > 4; };
  return node.kind == Node::Kind::sequence && std::ranges::none_of(node.items, large);
}

// yaml-cpp writes these as they are, where a line's end is read as a space.
bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

constexpr std::array<std::string_view, 11> kWords{"null", "true", "false", "yes",   "no",  "on",
                                                  "off",  ".inf", "+.inf", "-.inf", ".nan"};

void emit_text(YAML::Emitter& out, const std::string& text, bool quoted) {
  if (quoted || has_control(text)) out << YAML::DoubleQuoted;
  out << text;
}

void emit(YAML::Emitter& out, const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      out << YAML::Null;
      break;
    case Node::Kind::scalar:
      emit_text(out, node.scalar, node.quoted);
      break;
    case Node::Kind::sequence:
      if (is_flow(node)) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const Node& item : node.items) emit(out, item);
      out << YAML::EndSeq;
      break;
    case Node::Kind::mapping:
      if (node.entries.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const Node::Entry& entry : node.entries) {
        out << YAML::Key;
        emit_text(out, entry.key, !is_plain_text(entry.key));
        out << YAML::Value;
        emit(out, entry.value);
      }
      out << YAML::EndMap;
      break;
  }
}

// yaml-cpp would replace what is no UTF-8. It knows UTF-16 by its first two bytes.
void check_text(const std::string& text, const Position& start) {
  if (is_text(text) || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return;
  Position at{start.source, 0, 0};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && is_text(line);) ++at.line;
  ++at.line;
  fail(at,
       "not UTF-8: write a byte of a file's name as \\xNN, two small hexadecimal digits, without "
       "double quotes around the value");
}

// Where a line, counted from 0, has a tab among the blanks that it begins with. Absent: nowhere.
std::optional<int> tab_before(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int at = 0; at <= line && std::getline(lines, found); ++at) continue;
  const size_t tab = found.find('\t');
  if (tab == found.npos || tab > found.find_first_not_of(" \t")) return std::nullopt;
  return static_cast<int>(tab);
}

// Null: there is no document, or nothing in it.
Node parse(const std::string& text, const std::string& source, bool lines) {
  TreeBuilder builder(source, lines);
  const Position start = builder.position(YAML::Mark());
  if (text.size() > kMaxBytes) fail(start, "larger than 1 MiB");
  check_text(text, start);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return {Node::Kind::null, start};
    TreeBuilder second(source, lines);
    if (parser.HandleNextDocument(second)) {
      fail(second.take().at, "a second document: write one configuration per file");
    }
  } catch (const YAML::ParserException& error) {
    if (const auto tab = tab_before(text, error.mark.line)) {
      YAML::Mark mark = error.mark;
      mark.column = *tab;
      fail(builder.position(mark),
           "a tab stands here: YAML takes spaces only before a line's text");
    }
    fail(builder.position(error.mark), "this is no YAML: " + error.msg);
  }
  return builder.take();
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  std::stringstream stream(path);
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

// The value of a key, or of a place in a list; made where a mapping has none.
Node& find_or_make(Node& node, const std::string& part, const Position& at) {
  if (part.empty()) fail(at, "must look like a.b=value: two points follow each other");
  if (node.kind == Node::Kind::sequence) {
    const bool number = part.find_first_not_of("0123456789") == std::string::npos;
    const size_t index = number && part.size() < 6 ? std::stoul(part) : node.items.size();
    if (index >= node.items.size()) {
      fail(at, fmt::format("'{}' is no place in a list of {}: they count from 0", part,
                           node.items.size()));
    }
    return node.items[index];
  }
  if (node.kind == Node::Kind::null) node.kind = Node::Kind::mapping;
  if (node.kind != Node::Kind::mapping) {
    fail(at, "'" + part + "' lies under a value that is no mapping");
  }
  const auto found = std::ranges::find(node.entries, part, &Node::Entry::key);
  if (found != node.entries.end()) return found->value;
  return node.entries.emplace_back(Node::Entry{part, at, {Node::Kind::null, at}}).value;
}

// Keeps a mapping as it is before its type becomes another one. Without `type` it is of some
// default, which may be another one.
void keep_former(Node& node, const Node& type) {
  if (node.former != nullptr || node.entries.empty()) return;
  const Node* now = node.find("type");
  if (now == nullptr || now->scalar != type.scalar) node.former = std::make_shared<Node>(node);
}

void add_flat(const Node& node, const std::string& path, FlatTree& out) {
  const auto below = [&](const std::string& name, const Node& child) {
    add_flat(child, path.empty() ? name : path + "." + name, out);
  };
  if (node.entries.empty() && node.items.empty()) out.emplace_back(path, to_yaml(node));
  for (const Node::Entry& entry : node.entries) below(entry.key, entry.value);
  for (size_t i = 0; i < node.items.size(); ++i) below(std::to_string(i), node.items[i]);
}

}  // namespace

std::string Position::text() const {
  if (source == nullptr) return "configuration";
  if (line == 0) return *source;
  return fmt::format("{}:{}:{}", *source, line, column);
}

const Node* Node::find(const std::string& key) const {
  const auto found = std::ranges::find(entries, key, &Entry::key);
  return found == entries.end() ? nullptr : &found->value;
}

Node::Node() = default;

Node::Node(Kind kind, Position at, std::string scalar, bool quoted)
    : kind(kind), at(std::move(at)), scalar(std::move(scalar)), quoted(quoted) {}

Node Node::text(const std::string& value) { return {Kind::scalar, {}, value}; }

Node Node::map() { return {Kind::mapping, {}}; }

Node parse_yaml(const std::string& text, const std::string& source) {
  Node root = parse(text, source, true);
  if (root.kind == Node::Kind::null) root.kind = Node::Kind::mapping;
  return root;
}

// The names in a folder, without their ends where they are of experiments that ship.
static void add_names(const std::filesystem::path& folder, bool stems,
                      std::vector<std::string>& names) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    names.push_back(to_text((stems ? path.stem() : path.filename()).native()));
  }
}

// What is wrong with a path that does not exist: its first part that is not there.
static std::string not_there(const std::filesystem::path& path, const std::string& ours) {
  std::error_code error;
  std::filesystem::path missing = path;
  while (missing.has_parent_path() && !std::filesystem::exists(missing.parent_path(), error)) {
    missing = missing.parent_path();
  }
  const std::filesystem::path folder = missing.has_parent_path() ? missing.parent_path() : ".";
  std::vector<std::string> names;
  add_names(folder, false, names);
  if (!ours.empty()) add_names(ours, true, names);
  const std::string name = to_text(missing.filename().native());
  return fmt::format("there is no '{}' in {}{}{}", name, to_text(folder.native()),
                     ours.empty() ? "" : ", and no experiment that ships has this name",
                     did_you_mean(name, names));
}

Node load_yaml(const std::string& path) {
  std::optional<std::string> text = read_if_there(path, kMaxBytes + 1, Readable::streams);
  const bool word = path.find_first_of("./") == std::string::npos;
  const std::string ours = word ? share_of_library() + "/configs" : "";
  if (!text && word) {
    const std::string shared = ours + "/" + path + ".yaml";
    text = read_if_there(shared, kMaxBytes + 1);
    if (text) return parse_yaml(*text, shared);
  }
  if (!text) throw Error(ExitCode::environment, path + ": " + not_there(path, ours));
  return parse_yaml(*text, path);
}

void apply_override(Node& root, const Word& given) {
  const std::string assignment = readable(given.text);
  const size_t equals = assignment.find('=');
  const std::string source = "override '" + assignment + "'";
  const auto place = [&source](const Position& file) {
    const std::string before = file.source == nullptr ? "" : file.text() + ": ";
    return Position{std::make_shared<const std::string>(before + source), 0, 0};
  };
  const Position at = place(given.at);
  const bool path = equals != std::string::npos && equals > 0 && assignment[equals - 1] != '.';
  if (!path) fail(at, "must look like a.b=value");
  Node value = parse(assignment.substr(equals + 1), *place(given.value_at).source, false);
  apply_override(root, {assignment.substr(0, equals), at, std::move(value)});
}

void apply_override(Node& root, const Node::Override& override) {
  Node* node = &root;
  std::string rest = override.path;
  for (const std::string& part : split_path(override.path)) {
    if (rest == "type") keep_former(*node, override.value);
    if (node->former != nullptr) node->overrides.push_back({rest, override.at, override.value});
    node = &find_or_make(*node, part, override.at);
    rest.erase(0, part.size() + 1);
  }
  *node = override.value;
}

void apply_override(Node& root, const std::string& assignment) {
  apply_override(root, Word{assignment});
}

// What begins as a number and has no other characters than numbers (also to the base of 2, 8, 16
// and 60) and times have may be one.
bool is_plain_text(const std::string& text) {
  if (text.empty() || text == "~" || text == "=" || text == "<<") return false;
  std::string small = text;
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(kWords, small) != kWords.end()) return false;
  const bool number = std::string_view("0123456789.+-").find(small.front()) != std::string::npos;
  return !number || small.find_first_not_of("0123456789abcdefxo_.:+-tz ") != std::string::npos;
}

std::string to_yaml(const Node& node) {
  YAML::Emitter out;
  emit(out, node);
  return out.c_str();
}

FlatTree flat(const Node& tree) {
  FlatTree out;
  add_flat(tree, "", out);
  return out;
}

}  // namespace stoker
