#include "io/checkpoint/saving/save_tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "io/core/error.h"

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

std::vector<int64_t> sets_to_remove(const std::map<int64_t, std::optional<double>>& sets,
                                    std::optional<int64_t> safe_step,
                                    const CheckpointOptions& options) {
  std::set<int64_t> kept;
  for (auto set = sets.rbegin(); set != sets.rend(); ++set) {
    if (static_cast<int64_t>(kept.size()) == options.keep_last) break;
    kept.insert(set->first);
  }
  std::vector<std::pair<double, int64_t>> scored;
  for (const auto& [step, score] : sets) {
    if (options.keep_every && step % *options.keep_every == 0) kept.insert(step);
    if (score && !std::isnan(*score)) scored.emplace_back(-*score, step);  // of equals the oldest
  }
  std::sort(scored.begin(), scored.end());
  const auto best = std::min<size_t>(scored.size(), static_cast<size_t>(options.keep_best));
  for (size_t i = 0; i < best; ++i) kept.insert(scored[i].second);
  std::vector<int64_t> gone;
  for (const auto& [step, score] : sets) {
    if (!kept.contains(step) && safe_step && step < *safe_step) gone.push_back(step);
  }
  return gone;
}

void Retention::committed(int64_t step, std::optional<double> score) {
  const std::lock_guard lock(mutex_);
  scores_[step] = score;
  on_last_.erase(step);
}

void Retention::add_score(int64_t step, std::optional<double> score) {
  const std::lock_guard lock(mutex_);
  scores_[step] = score;
}

void Retention::reached_last(int64_t step) {
  const std::lock_guard lock(mutex_);
  on_last_.insert(step);
  durable_step_ = std::max(step, durable_step_.value_or(-1));
}

void Retention::found_on_last(int64_t step) {
  const std::lock_guard lock(mutex_);
  on_last_.insert(step);
}

bool Retention::on_last(int64_t step) const {
  const std::lock_guard lock(mutex_);
  return on_last_.contains(step);
}

std::optional<int64_t> Retention::durable_step() const {
  const std::lock_guard lock(mutex_);
  return durable_step_;
}

bool Retention::apply(SetStore& store) {
  const std::vector<int64_t> steps = store.steps();
  std::map<int64_t, std::optional<double>> sets;
  std::optional<int64_t> safe;
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t step : steps) {
      const auto score = scores_.find(step);
      sets[step] = score == scores_.end() ? std::nullopt : score->second;
    }
    safe = durable_step_;
  }
  bool removed = false;
  for (const int64_t step : sets_to_remove(sets, safe, options_)) {
    if (!on_last(step)) continue;  // not drained yet
    if (!remove(store, step)) continue;
    removed = true;
    if (&store != &tiers_.last() || tiers_.first().has(step)) continue;
    const std::lock_guard lock(mutex_);  // gone from everywhere
    on_last_.erase(step);
    scores_.erase(step);
  }
  return removed;
}

bool Retention::remove(SetStore& store, int64_t step) {
  try {
    store.remove(step);
    return true;
  } catch (const IoError& error) {
    {
      const std::lock_guard lock(mutex_);
      if (!stays_.insert({&store, step}).second) return false;
    }
    log_.warn(fmt::format("the checkpoint of step {} on tier '{}' cannot be removed: {}", step,
                          store.tier(), error.what()));
    return false;
  }
}

bool Retention::make_room() {
  bool made = false;
  if (!tiers_.drains()) return made;
  SetStore& first = tiers_.first();
  try {
    for (const int64_t step : first.steps()) {
      if (!on_last(step)) continue;
      if (!remove(first, step)) continue;
      log_.info(fmt::format("tier '{}' is full: removed its copy of step {}, which is on '{}'",
                            first.tier(), step, tiers_.last().tier()));
      made = true;
    }
  } catch (const std::exception& error) {
    log_.warn(std::string("making room: ") + error.what());
  }
  return made;
}

}  // namespace stoker
