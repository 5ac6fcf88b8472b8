#include "io/core/registry.h"

namespace stoker::registry_detail {

std::string describe_clash(const char* kind, const Name& first, const std::string& second_file) {
  return std::string(kind) + " '" + first.name + "' is registered by both " + first.file + " and " +
         second_file + ": rename one, or take one from plugins:";
}

std::string read_type(const Section& section, const char* kind,
                      const std::vector<std::string>& known) {
  if (section.node().kind != Node::Kind::mapping) {
    section.fail(std::string("must be a mapping with a type, e.g. {type: ") +
                 (known.empty() ? "..." : known.front()) + "}");
  }
  const Node* type = section.node().find("type");
  if (type == nullptr) {
    section.fail_missing("type", suggestion("", known));
  }
  const Section named = section.child("type", *type);
  const std::string& name = config_detail::scalar_text(named, "text");
  if (std::ranges::find(known, name) != known.end()) return name;
  section.fail_at(type->at,
                  std::string("unknown ") + kind + " '" + name + "'" + suggestion(name, known));
}

}  // namespace stoker::registry_detail
