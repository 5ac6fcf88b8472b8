#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/core/config/node.h"
#include "io/core/text/json.h"
#include "tests/fuzz/target.h"

namespace stoker {
namespace {

// Every place that a message could name is one of the text.
void check_places(const Node& node, int lines) {
  fuzz::require(node.at.line >= 1 && node.at.line <= lines && node.at.column >= 1,
                "a value lies outside of the text");
  for (const Node& item : node.items) check_places(item, lines);
  for (const Node::Entry& entry : node.entries) check_places(entry.value, lines);
}

bool same(const Node& a, const Node& b);

bool same_entry(const Node::Entry& a, const Node::Entry& b) {
  return a.key == b.key && same(a.value, b.value);
}

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && (a.kind == Node::Kind::null || a.scalar == b.scalar) &&
         std::ranges::equal(a.items, b.items, same) &&
         std::ranges::equal(a.entries, b.entries, same_entry);
}

}  // namespace
}  // namespace stoker

STOKER_FUZZ_TARGET(yaml) {
  using namespace stoker;
  const std::string text(fuzz::text(input));
  const Node node = parse_yaml(text, "fuzz.yaml");
  const bool utf16 = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  if (!utf16) check_places(node, 1 + static_cast<int>(std::ranges::count(text, '\n')));
  (void)to_json(node);
  if (node.kind != Node::Kind::mapping) return;
  fuzz::require(same(parse_yaml(to_yaml(node), "again"), node),
                "YAML changes when it is read again");
}
