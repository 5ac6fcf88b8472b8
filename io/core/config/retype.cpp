#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "io/core/config/registry.h"

namespace stoker {
namespace {

std::string type_of(const Node& node, const std::string& fallback) {
  const Node* type = node.find("type");
  return type == nullptr ? fallback : type->scalar;
}

// A component as it is written down, and what its own type takes of it.
struct Written {
  const Node* node;
  TakenOptions taken;
};

// One override of a section's type.
class Retyping {
 public:
  Retyping(const Section& section, const std::string& fallback, const TakesOptions& takes)
      : section_(section), fallback_(fallback), takes_(takes) {
    if (section.context() != nullptr) context_.tiers = section.context()->tiers;
  }

  // What the mapping becomes; type: the override's value.
  Node retype(const Node& now, const Node& type) const {
    const std::string former = type_of(now, fallback_);
    if (former.empty() || former == type.scalar || !takes(type.scalar, now))
      return with_type(now, type);
    const std::vector<Written> chain = chain_of(now, former);
    const auto same = std::ranges::find_if(
        chain, [&](const Written& one) { return type_of(*one.node, fallback_) == type.scalar; });
    const std::string inner = takes(type.scalar, now)->inner;
    if (same == chain.end() && !inner.empty()) {
      Node node = with_type(Node::map(), type);
      node.entries.push_back({inner, type.at, with_type(now, Node::text(former))});
      return node;
    }
    return with_options(chain, same == chain.end() ? chain.size() - 1 : same - chain.begin(), type);
  }

 private:
  std::optional<TakenOptions> takes(const std::string& type, const Node& node) const {
    // Without a note, for nothing is dropped where options are only tried.
    return takes_(type, Section(node, "", "", section_.context() == nullptr ? nullptr : &context_));
  }

  static Node with_type(Node node, const Node& type) {
    const auto old = std::ranges::find(node.entries, "type", &Node::Entry::key);
    if (old != node.entries.end()) node.entries.erase(old);
    node.entries.insert(node.entries.begin(), {"type", type.at, type});
    node.kind = Node::Kind::mapping;
    if (type.at.source != nullptr) node.at = type.at;
    return node;
  }

  // The component and what it is around, from the outside to the inside.
  std::vector<Written> chain_of(const Node& outermost, const std::string& type) const {
    std::vector<Written> chain{{&outermost, takes(type, outermost).value_or(TakenOptions())}};
    while (const Node* inner = chain.back().node->find(chain.back().taken.inner)) {
      chain.push_back({inner, takes(type_of(*inner, ""), *inner).value_or(TakenOptions())});
    }
    return chain;
  }

  // The new type with the options of chain[source].
  Node with_options(const std::vector<Written>& chain, size_t source, const Node& type) const {
    std::vector<std::string> dropped;
    for (size_t i = 0; i < source; ++i) {
      for (const auto& [key, given] : chain[i].taken.keys) {
        if (given && key != chain[i].taken.inner) dropped.push_back(key);
      }
    }
    const Written& former = chain[source];
    const TakenOptions taken = *takes(type.scalar, *former.node);
    Node result = with_type(*former.node, type);
    std::erase_if(result.entries, [&](const Node::Entry& entry) {
      const auto old = former.taken.keys.find(entry.key);
      if (old == former.taken.keys.end() || taken.keys.contains(entry.key)) return false;
      if (old->second) dropped.push_back(entry.key);
      return true;
    });
    if (!dropped.empty() && section_.context() != nullptr && section_.context()->note) {
      section_.context()->note(fmt::format("{}.type={}: dropped '{}', which {} does not know",
                                           section_.path(), type.scalar, fmt::join(dropped, "', '"),
                                           type.scalar));
    }
    return result;
  }

  const Section& section_;
  const std::string& fallback_;
  const TakesOptions& takes_;
  ConfigContext context_;
};

}  // namespace

Node retyped(const Section& section, const std::string& fallback, const TakesOptions& takes) {
  Node now = *section.node().former;
  const Retyping retyping(section, fallback, takes);
  for (const Node::Override& override : section.node().overrides) {
    if (override.path == "type") {
      now = retyping.retype(now, override.value);
    } else {
      apply_override(now, override);
    }
  }
  return now;
}

}  // namespace stoker
