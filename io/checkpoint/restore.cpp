#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/checkpoint/engine.h"

// How an Engine finds the state to begin with.
//
// 1. All tiers are locked and cleared of what killed processes left. A slow tier that is absent is
//    no reason not to train: the drain tries again.
// 2. The newest step of any tier is read, the fast tier first. Every byte is verified while it is
//    read; a damaged set is set aside, never deleted, and the next candidate is tried: the same
//    step on the other tier, then the step before. A set whose tier fails, rather than its bytes,
//    is passed over and stays where it is.
// 3. Sets newer than the one taken belong to a history that this run will not repeat (they could
//    not be read, or an older one was asked for): they are set aside, so that no later restart
//    takes them.
// 4. What is on the fast tier only is drained.

namespace stoker {

namespace fs = std::filesystem;

void Engine::open() {
  for (const auto& store : stores_) {
    try {
      store->open_for_writing();
    } catch (const IoError& error) {
      if (store.get() == &first()) throw;
      news(true, fmt::format("tier '{}' cannot be used now: {}; checkpoints stay on '{}' meanwhile",
                             store->tier(), error.what(), first().tier()));
      const std::lock_guard lock(mutex_);
      drain_failed_ = drain_ != nullptr;
      status_.last_error = error.what();
    }
  }
}

// Of a tier that is absent: none.
std::vector<int64_t> Engine::steps_of(const SetStore& store) {
  try {
    return store.steps();
  } catch (const IoError&) {
    if (&store == &first()) throw;
    return {};  // open() has told it
  }
}

std::set<int64_t> Engine::all_steps() {
  std::set<int64_t> steps;
  for (const auto& store : stores_) {
    for (const int64_t step : steps_of(*store)) steps.insert(step);
  }
  return steps;
}

std::optional<LoadedState> Engine::load() {
  open();
  report_news();
  std::optional<LoadedState> loaded;
  const std::set<int64_t> there = all_steps();
  if (options_.resume == "latest") {
    loaded = newest_intact();
  } else if (options_.resume != "none") {
    loaded = load_path(options_.resume);
  }
  if (!there.empty() && !loaded) {
    throw Error(ExitCode::config,
                fmt::format("{}/{} holds checkpoints up to step {}, and checkpoint.resume is none: "
                            "go on with checkpoint.resume=latest, or give this run another "
                            "checkpoint.directory (or run.name)",
                            first().tree().root(), first().directory(), *there.rbegin()));
  }
  if (loaded) continue_from(loaded->step());
  report_news();
  return loaded;
}

std::optional<LoadedState> Engine::try_load(SetStore& store, int64_t step) {
  try {
    if (!store.has(step)) return std::nullopt;
    LoadedState loaded(store.tree(), store.path(step), options_.resolve_threads());
    if (loaded.step() == step) return loaded;
    throw DamagedSet(
        fmt::format("{}: its manifest is that of step {}", store.full_path(step), loaded.step()));
  } catch (const DamagedSet& error) {
    news(true, fmt::format("checkpoint not used: {}", error.what()));
    set_aside(store, step, "damaged");
  } catch (const Error& error) {
    news(true, fmt::format("checkpoint not used: {}", error.what()));
  }
  return std::nullopt;
}

std::optional<LoadedState> Engine::newest_intact() {
  const std::set<int64_t> steps = all_steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    for (const auto& store : stores_) {
      if (std::optional<LoadedState> loaded = try_load(*store, *step)) return loaded;
    }
  }
  if (steps.empty()) return std::nullopt;
  report_news();
  throw Error(ExitCode::storage,
              fmt::format("none of the {} checkpoints in {}/{} is intact (see above); to start "
                          "afresh, give this run another checkpoint.directory",
                          steps.size(), first().tree().root(), first().directory()));
}

LoadedState Engine::load_path(const std::string& path) {
  const fs::path set = fs::weakly_canonical(fs::path(path));
  const FileTree tree(set.parent_path().string());
  if (!tree.exists(set.filename().string() + "/" + kManifestName)) {
    throw Error(
        ExitCode::environment,
        fmt::format("checkpoint.resume: {} is no checkpoint (no {} in it); give the path of "
                    "a step-... directory, or latest",
                    path, kManifestName));
  }
  const bool ours = std::ranges::any_of(stores_, [&](const auto& store) {
    const fs::path own(store->tree().root() + "/" + store->directory());
    return fs::weakly_canonical(own) == set.parent_path();
  });
  if (!ours && !all_steps().empty()) {
    throw Error(ExitCode::config,
                fmt::format("checkpoint.resume: {} is another run's, and {}/{} has checkpoints of "
                            "its own; give this run another checkpoint.directory",
                            path, first().tree().root(), first().directory()));
  }
  return LoadedState(tree, set.filename().string(), options_.resolve_threads());
}

void Engine::set_aside(SetStore& store, int64_t step, const std::string& why) {
  try {
    news(true, fmt::format("checkpoint of step {} on tier '{}' is {}: set aside as {}", step,
                           store.tier(), why, store.set_aside(step, why)));
  } catch (const IoError& error) {
    news(true, fmt::format("checkpoint of step {} on tier '{}' is {}, but cannot be set aside: {}",
                           step, store.tier(), why, error.what()));
  }
}

// Not needed to go on; restoring would say what is wrong with the set.
void Engine::read_score(const SetStore& store, int64_t step) {
  try {
    const nlohmann::json training = store.manifest(step).training;
    const std::lock_guard lock(mutex_);
    if (training.contains("score")) scores_[step] = training["score"].get<double>();
  } catch (const std::exception&) {
  }
}

void Engine::continue_from(int64_t step) {
  start_step_ = step;
  // A set that is on the fast tier only counts as saved where there is a drain; else it is saved
  // anew.
  if (drain_ || last().has(step)) last_step_ = step;
  for (const auto& store : stores_) {
    for (const int64_t other : steps_of(*store)) {
      if (other > step) {
        set_aside(*store, other, "superseded");
      } else if (options_.keep_best > 0) {
        read_score(*store, other);
      }
    }
  }
  std::vector<int64_t> durable = steps_of(last());
  // The newest may have been committed, but not read back, when its process ended.
  if (drain_ && !durable.empty() && first().has(durable.back())) durable.pop_back();
  {
    const std::lock_guard lock(mutex_);
    on_last_.insert(durable.begin(), durable.end());
    status_.saved_step = step;
    if (!durable.empty()) status_.durable_step = durable.back();
  }
  if (!drain_) return;
  for (const int64_t other : first().steps()) {
    if (!on_last(other)) drain_->add(other);
  }
}

// What is on it was not seen when this run decided where to begin.
void Engine::last_appeared() {
  for (const int64_t step : last().steps()) {
    if (first().has(step)) continue;  // the drain compares it
    if (step > start_step_) {
      set_aside(last(), step, "superseded");
      continue;
    }
    const std::lock_guard lock(mutex_);
    on_last_.insert(step);
  }
}

}  // namespace stoker
