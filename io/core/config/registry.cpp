#include "io/core/config/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "io/core/config/plugin.h"

namespace stoker::registry_detail {
namespace {

void refuse_slip_of_type(const Section& section) {
  for (const Node::Entry& entry : section.node().entries) {
    const std::string close = did_you_mean(entry.key, {"type"});
    if (!close.empty()) section.fail_at(entry.at, "unknown key '" + entry.key + "'" + close);
  }
}

}  // namespace

std::string of_other_types(const char* kind, const std::vector<std::string>& types) {
  if (types.empty()) return "";
  const bool one = types.size() == 1;
  return fmt::format(" (the {} type{} '{}' {} it)", kind, one ? "" : "s", fmt::join(types, "', '"),
                     one ? "has" : "have");
}

std::string describe_clash(const char* kind, const Name& first, const std::string& second_file) {
  return std::string(kind) + " '" + first.name + "' is registered by both " + first.file + " and " +
         second_file + ": rename one, or take one from plugins:";
}

std::string unknown_type(const char* kind, const std::string& name,
                         std::vector<std::string> known) {
  for (const PluginType& type : plugin_types()) {
    const bool there = std::ranges::find(known, type.type) != known.end();
    if (std::string_view(type.kind) == kind && !there) known.emplace_back(type.type);
  }
  std::ranges::sort(known);
  return fmt::format("unknown {} '{}'{}", kind, name, suggestion(name, known));
}

void fail_at_type(const Section& section, const std::string& text) {
  const Node* type = section.node().find("type");
  if (type == nullptr) section.fail(text);
  section.fail_at(type->at, text);
}

std::string read_type(const Section& section, const std::vector<std::string>& known,
                      const std::string& fallback) {
  const Node& node = section.node();
  const bool nothing = node.kind == Node::Kind::null && !fallback.empty();
  if (nothing) return fallback;
  if (node.kind != Node::Kind::mapping) {
    const std::string example = !fallback.empty() ? fallback
                                : known.empty()   ? "..."
                                                  : known.front();
    section.fail("must be a mapping with a type, e.g. {type: " + example + "}");
  }
  const Node* type = node.find("type");
  if (type == nullptr) {
    refuse_slip_of_type(section);
    if (fallback.empty()) section.fail_missing("type", suggestion("", known));
    return fallback;
  }
  const std::string expected = config_detail::enum_expected(known);
  const Section at = section.child("type", *type);
  return config_detail::scalar_text(at, expected);
}

}  // namespace stoker::registry_detail
