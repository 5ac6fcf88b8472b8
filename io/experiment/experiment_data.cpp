#include "io/experiment/experiment_data.h"

#include <fmt/format.h>

#include "io/storage/metered.h"

namespace stoker {

ExperimentData::ExperimentData(const DataOptions& options, const Notify& notify)
    : loader_(options.loader),
      seed_(options.run.seed),
      notify_(notify ? notify : [](const std::string&) {}),
      decoder_type_(options.decoder.type()),
      decodes_(options.decoder.info().arrays),
      tier_(options.dataset.info().tier) {
  for (const auto& [name, tier] : options.storage) {
    tiers_.add(name, open_tier(tier, {name, notify, &hub_}));
  }
  dataset_ = options.dataset.create({tiers_, options.run.seed, notify});
  decoder_ = options.decoder.create({});
}

// Those who read samples and decode none do not ask for it.
const Decoder& ExperimentData::decoder() const {
  check_arrays(*dataset_, decoder_type_, decodes_);
  return *decoder_;
}

std::unique_ptr<Loader> ExperimentData::make_loader(const LoaderUse& use) {
  return loader_.create(
      {.dataset = dataset(),
       .decoder = decoder(),
       .allocate = use.allocate,
       .split = use.split,
       .seed = seed_,
       .notify = notify_,
       .meter = use.split == Split::train ? hub_.train_loader() : hub_.test_loader(),
       .shard = use.shard,
       .device = use.device,
       .group = use.group,
       .channel = fmt::format("loaders/{}", loaders_made_++),
       .may_hold = use.may_hold});
}

const FileTree* ExperimentData::files() const {
  return tier_.empty() ? nullptr : files_of(tiers_.at(tier_));
}

}  // namespace stoker
