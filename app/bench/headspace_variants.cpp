#include "app/bench/headspace_variants.h"

#include <algorithm>
#include <utility>

#include "io/decoder/options.h"

namespace stoker {
namespace {

Node component(const std::string& type, const std::vector<std::pair<std::string, Node>>& entries) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type)});
  for (const auto& [key, value] : entries) node.entries.push_back({key, {}, value});
  return node;
}

template <class T>
Component<T> parse(const Node& node, const ConfigContext* context = nullptr) {
  return Registry<T>::global().parse(Section(node, "", T::kKind, context));
}

}  // namespace

Component<Storage> innermost(const Component<Storage>& tier) {
  const Node node = tier.dump();
  const Node* inner = node.find("inner");
  return inner == nullptr ? tier : innermost(parse<Storage>(*inner));
}

Component<Storage> without_caches(const Component<Storage>& tier) {
  if (tier.type() != "cached") return tier;
  return without_caches(parse<Storage>(*tier.dump().find("inner")));
}

bool is_emulated(const Component<Storage>& tier) {
  if (tier.type() == "emulated") return true;
  const Node node = tier.dump();
  const Node* inner = node.find("inner");
  return inner != nullptr && is_emulated(parse<Storage>(*inner));
}

Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit) {
  return parse<Storage>(component("cached", {{"inner", tier.dump()},
                                             {"in", component("memory", {})},
                                             {"limit", Node::text(std::to_string(limit))}}));
}

Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers) {
  Node plain = decoder.dump();
  for (Node::Entry& entry : plain.entries) {
    if (entry.key == "augment") entry.value = dump_struct(Augment{});
    if (entry.key == "on_device") entry.value = Node::text("nothing");
    if (entry.key == "output") entry.value = Node::text("uint8");
  }
  const ConfigContext context{tiers};
  return parse<Dataset>(component("decoded", {{"inner", dataset.dump()},
                                              {"decoder", plain},
                                              {"in", component("memory", {})},
                                              {"limit", Node::text(std::to_string(limit))}}),
                        &context);
}

Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec) {
  std::vector<std::pair<std::string, Node>> entries;
  for (const char* key : {"height", "width", "size"}) {
    entries.emplace_back(key, Node::text(std::to_string(spec.height)));
  }
  const Node options = decoder.dump();
  for (const char* key : {"augment", "output"}) {
    if (const Node* value = options.find(key)) entries.emplace_back(key, *value);
  }
  return parse<Decoder>(component("raw", entries));
}

}  // namespace stoker
