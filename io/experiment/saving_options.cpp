#include "io/experiment/saving_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace stoker {

SavingOptions read_saving_options(Node root, const std::vector<std::string>& overrides,
                                  const Notify& note) {
  for (const std::string& assignment : overrides) apply_override(root, assignment);
  ConfigContext context = begin_experiment(root);
  context.note = note;
  std::vector<const char*> others{"dataset", "decoder", "loader"};
  std::ranges::copy_if(training_sections(), std::back_inserter(others),
                       [](std::string_view name) { return name != "checkpoint"; });
  SavingOptions options;
  const Section section(root, "", "", &context);
  read_struct(section, options, others);
  const CheckpointerInfo checkpoint = options.checkpoint.info();
  if (!checkpoint.saves)
    section.fail("checkpoint", "must not be none here: set checkpoint.type=direct");
  add_checkpoint_tiers(options.checkpoint, options.run, options.storage);
  check_checkpoint_tiers(options.checkpoint, options.storage, section);
  return options;
}

void add_checkpoint_tiers(const Component<Checkpointer>& checkpoint, const RunOptions& run,
                          TierOptions& storage) {
  if (!checkpoint.info().saves) return;
  for (const std::string& tier : checkpoint.info().tiers) {
    if (storage.contains(tier)) continue;
    Node node = Node::map();
    node.entries.push_back({"type", {}, Node::text("posix")});
    const Path root{run.dir.value + "/" + tier};
    node.entries.push_back({"root", {}, Field<Path>::dump(root)});
    storage.emplace(tier, parse_component<Storage>(node));
  }
}

void check_checkpoint_tiers(const Component<Checkpointer>& checkpoint, const TierOptions& storage,
                            const Section& root) {
  if (!checkpoint.info().saves) return;
  const Node* section = root.node().find("checkpoint");
  for (const std::string& tier : checkpoint.info().tiers) {
    const StorageInfo info = storage.at(tier).info();
    if (!info.in_memory && !info.read_only) continue;
    const Node* fast = section == nullptr ? nullptr : section->find("fast");
    const char* key = fast != nullptr && fast->scalar == tier ? "fast" : "slow";
    root.fail(
        "checkpoint",
        fmt::format("must not name tier '{}': it {}; name a tier of files (posix) or a bucket, "
                    "or set checkpoint.{}=null for a directory below run.dir",
                    tier,
                    info.in_memory ? "keeps its objects in memory, where checkpoints end with "
                                     "the process"
                                   : "can only be read, so it can hold no checkpoints",
                    key));
  }
}

}  // namespace stoker
