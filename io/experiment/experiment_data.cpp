#include "io/experiment/experiment_data.h"

#include "io/storage/metered.h"

namespace stoker {

ExperimentData::ExperimentData(const DataOptions& options, const Notify& notify)
    : tier_(options.dataset.info().tier) {
  for (const auto& [name, tier] : options.storage) {
    tiers_.add(name, open_tier(tier, {name, notify, &hub_}));
  }
  dataset_ = options.dataset.create({tiers_, options.run.seed, notify});
  decoder_ = options.decoder.create({});
}

const FileTree* ExperimentData::files() const {
  return tier_.empty() ? nullptr : files_of(tiers_.at(tier_));
}

}  // namespace stoker
