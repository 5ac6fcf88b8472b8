#include "app/tools/bench_train/headspace_variants.h"

#include <algorithm>
#include <utility>

#include "io/storage/cached/cached.h"

namespace stoker {
namespace {

Node component(const std::string& type, const std::vector<std::pair<std::string, Node>>& entries) {
  Node node = Node::map();
  node.entries.push_back({"type", {}, Node::text(type)});
  for (const auto& [key, value] : entries) node.entries.push_back({key, {}, value});
  return node;
}

}  // namespace

Component<Storage> innermost(Component<Storage> tier) {
  while (Component<Storage> inner = tier.inner()) tier = inner;
  return tier;
}

Component<Storage> without_caches(Component<Storage> tier) {
  while (const CachedOptions* cached = tier.options<CachedOptions>()) {
    tier = Component<Storage>(cached->inner);
  }
  return tier;
}

Component<Storage> with_copies_in_memory(const Component<Storage>& tier, uint64_t limit) {
  return parse_component<Storage>(
      component("cached", {{"inner", tier.dump()},
                           {"in", component("memory", {})},
                           {"limit", Node::text(std::to_string(limit))}}));
}

Component<Dataset> decoded_in_memory(const Component<Dataset>& dataset,
                                     const Component<Decoder>& decoder, uint64_t limit,
                                     const std::vector<std::string>& tiers) {
  const DecoderInfo info = decoder.info();
  std::vector<std::string> plain;
  if (info.augments) plain.emplace_back("augment={}");
  if (info.frames) plain.emplace_back("on_device=nothing");
  if (info.output != PixelType::uint8) plain.emplace_back("output=uint8");
  const ConfigContext context{tiers};
  return parse_component<Dataset>(
      component("decoded", {{"inner", dataset.dump()},
                            {"decoder", changed(decoder, plain).dump()},
                            {"in", component("memory", {})},
                            {"limit", Node::text(std::to_string(limit))}}),
      &context);
}

Component<Decoder> for_pixels(const Component<Decoder>& decoder, const SampleSpec& spec) {
  std::vector<std::pair<std::string, Node>> entries;
  for (const char* key : {"height", "width", "size"}) {
    entries.emplace_back(key, Node::text(std::to_string(spec.height)));
  }
  const Node options = decoder.dump();  // to be written down under another type
  for (const char* key : {"augment", "output"}) {
    if (const Node* value = options.find(key)) entries.emplace_back(key, *value);
  }
  return parse_component<Decoder>(component("raw", entries));
}

}  // namespace stoker
