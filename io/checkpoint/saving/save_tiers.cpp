#include "io/checkpoint/saving/save_tiers.h"

namespace stoker {
namespace {

// On the last tier all ranks write into one set; on the fast one, which each may have for itself,
// into a set of their own.
std::unique_ptr<SetStore> store_on(const std::string& tier, const std::string& directory,
                                   const Checkpointer::Inputs& inputs, StoreOptions options,
                                   bool shared) {
  Storage& storage = inputs.tiers.at(tier);
  const RankGroup& group = inputs.group;
  const bool many = group.size() > 1;
  if (many && !shared && files_of(storage) == nullptr) {
    throw Error(ExitCode::config,
                "checkpoint.fast: tier '" + tier +
                    "' keeps no files, so many ranks cannot save there, each its own part of a "
                    "set: name a tier of type posix, or use checkpoint.type=direct");
  }
  if (many && shared) options.use = group.first() ? StoreUse::first : StoreUse::guest;
  return sets_on(tier, storage,
                 many && !shared ? rank_directory(directory, group.rank()) : directory, options);
}

}  // namespace

SaveTiers::SaveTiers(const CheckpointOptions& options, const Checkpointer::Inputs& inputs,
                     WriteTo write_to, const Notify& warn)
    : write_to_(write_to),
      directory_(options.directory.empty() ? inputs.directory : options.directory) {
  const StoreOptions store{.run = inputs.directory, .durability = options.durability, .warn = warn};
  if (options.fast && options.fast->name != options.slow->name) {
    stores_.push_back(store_on(options.fast->name, directory_, inputs, store, false));
  }
  stores_.push_back(store_on(options.slow->name, directory_, inputs, store, true));
}

}  // namespace stoker
