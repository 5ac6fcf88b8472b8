#include "io/experiment/run_plan.h"

#include "io/checkpoint/checkpointer.h"
#include "io/core/error.h"
#include "io/dataset/dataset.h"
#include "io/loader/loader.h"
#include "io/storage/cached/cached.h"

namespace stoker {
namespace {

template <class T>
Component<T> component(const Node* node) {
  if (node == nullptr) return {};
  try {
    return parse_component<T>(*node);
  } catch (const Error&) {
    return {};
  }
}

std::string scalar(const Node* mapping, const std::string& key) {
  const Node* value = mapping == nullptr ? nullptr : mapping->find(key);
  return value == nullptr ? "" : value->scalar;
}

void add_source(const Node& config, RunPlan& plan) {
  const Node* section = config.find("dataset");
  const Component<Dataset> dataset = component<Dataset>(section);
  plan.tier = dataset ? dataset.info().tier : scalar(section, "storage");
  const Node* tiers = config.find("storage");
  const Node* named = tiers == nullptr ? nullptr : tiers->find(plan.tier);
  Component<Storage> tier = component<Storage>(named);
  plan.keeps_copies = tier && tier.info().keeps_copies;
  plan.source = plan.tier;
  while (tier && tier.info().keeps_copies) {
    if (tier.options<CachedOptions>() != nullptr) plan.source += ".inner";
    tier = tier.inner();
  }
  plan.source_type = tier ? tier.type() : scalar(named, "type");
  if (tier) plan.source_mb_per_s = tier.info().read_mb_per_s;
}

}  // namespace

RunPlan plan_of(const Node& config) {
  RunPlan plan;
  if (const auto loader = component<Loader>(config.find("loader"))) {
    const LoaderInfo info = loader.info();
    plan.works_ahead = info.works_ahead() || info.resident;
    plan.copies_ahead = info.device_batches_ahead > 0;
    plan.has_workers = info.workers > 0;
  }
  add_source(config, plan);
  const Node* checkpoint = config.find("checkpoint");
  plan.saves = checkpoint != nullptr;
  if (const auto known = component<Checkpointer>(checkpoint)) {
    const CheckpointerInfo info = known.info();
    plan.saves = info.saves;
    plan.written = info.written;
    plan.snapshot = info.snapshot;
  }
  return plan;
}

}  // namespace stoker
