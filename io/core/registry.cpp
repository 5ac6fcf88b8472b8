#include "io/core/registry.h"

#include <fmt/format.h>

#include <filesystem>

#include "io/core/plugin.h"

namespace stoker::registry_detail {
namespace {

// Components of this project that are in a plug-in of their own, and why they may not be there.
struct InPlugin {
  const char* kind;
  const char* name;
  const char* plugin;
  const char* needs;
};
constexpr InPlugin kInPlugins[] = {
    {"decoder", "opencv", "stoker_opencv", "OpenCV with its image codecs"}};

std::string plugin_hint(const InPlugin& component) {
  const std::string path = plugin_beside_library(component.plugin);
  const bool there = std::filesystem::exists(path);
  return fmt::format(
      "{} '{}' is in a plug-in{}: load it by plugins: [{}], or by --plugin where there is no "
      "configuration",
      component.kind, component.name,
      there ? "" : fmt::format(", which is not built here (it needs {})", component.needs), path);
}

void refuse_slip_of_type(const Section& section) {
  for (const Node::Entry& entry : section.node().entries) {
    const std::string close = did_you_mean(entry.key, {"type"});
    if (!close.empty()) section.fail_at(entry.at, "unknown key '" + entry.key + "'" + close);
  }
}

}  // namespace

std::string describe_clash(const char* kind, const Name& first, const std::string& second_file) {
  return std::string(kind) + " '" + first.name + "' is registered by both " + first.file + " and " +
         second_file + ": rename one, or take one from plugins:";
}

std::string unknown_type(const char* kind, const std::string& name,
                         std::vector<std::string> known) {
  for (const InPlugin& component : kInPlugins) {
    if (std::string_view(component.kind) != kind) continue;
    if (name == component.name) return plugin_hint(component);
    known.emplace_back(component.name);
  }
  return fmt::format("unknown {} '{}'{}", kind, name, suggestion(name, known));
}

std::string read_type(const Section& section, const char* kind,
                      const std::vector<std::string>& known, const std::string& fallback) {
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
  const std::string& name = config_detail::scalar_text(at, expected);
  if (std::ranges::find(known, name) != known.end()) return name;
  section.fail_at(type->at, unknown_type(kind, name, known));
}

}  // namespace stoker::registry_detail
