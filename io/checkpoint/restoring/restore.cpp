#include "io/checkpoint/restoring/restore.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "io/checkpoint/sets/file_sets.h"

// How a run finds the state to begin with.
//
// 1. All tiers are locked and cleared of what killed processes left. A slow tier that is absent is
//    no reason not to train: the drain tries again.
// 2. The newest step of any tier is read, the fast tier first. Every byte is verified while it is
//    read; a damaged set is set aside, never deleted, and the next candidate is tried: the same
//    step on the other tier, then the step before. A set whose tier fails, rather than its bytes,
//    is passed over and stays where it is. Of a set that several processes wrote, the files may lie
//    on several tiers, wherever they are seen; each process reads some, and gets the others.
// 3. Sets newer than the one taken belong to a history that this run will not repeat (they could
//    not be read, or an older one was asked for): they are set aside, so that no later restart
//    takes them.
// 4. What is on the fast tier only is to be drained.
//
// All processes take the same decisions: what each sees is told to all before one is taken
// (Collective).

namespace stoker {

namespace fs = std::filesystem;

Restorer::Restorer(const CheckpointOptions& options, const SaveTiers& tiers, RankGroup& group,
                   std::function<Room()> room, Retention& retention, DeferredLog& log)
    : options_(options),
      tiers_(tiers),
      group_(group),
      room_(std::move(room)),
      retention_(retention),
      log_(log),
      collective_(group, "load", [] { return true; }) {}

// Why the last tier cannot be used now; empty: it can.
std::string Restorer::open() {
  std::string absent;
  for (const auto& store : tiers_.stores()) {
    try {
      open(*store);
    } catch (const IoError& error) {
      if (store.get() == &tiers_.first()) throw;
      log_.warn(fmt::format("tier '{}' cannot be used now: {}; checkpoints stay on '{}' meanwhile",
                            store->tier(), error.what(), tiers_.first().tier()));
      absent = error.what();
    }
  }
  return absent;
}

void Restorer::open(SetStore& store) {
  // Opening objects would take them from a process on another machine.
  if (store.files().tree() == nullptr && options_.resume.value == "none") {
    const std::vector<int64_t> steps = store.steps();
    refuse_to_begin_on({steps.begin(), steps.end()});
  }
  store.open_for_writing();
  if (!store.shared()) adopt(store);
}

// Takes over what the ranks of an earlier process left on the same tier: those that are no more, or
// the one process by itself that is now many.
void Restorer::adopt(SetStore& store) {
  const FileTree* const tree = store.files().tree();
  if (tree == nullptr) return;
  const auto present = [&](const std::string& name) {
    return group_.size() > 1 && rank_of(name) < group_.size();
  };
  FileSets to(store.tier(), *tree, store.directory(), options_.durability, false,
              [this](const std::string& line) { log_.warn(line); });
  for (const std::string& name : tree->list(tiers_.directory())) {
    if (rank_of(name) >= 0 && !present(name)) to.adopt(tiers_.directory() + "/" + name);
  }
  if (group_.size() > 1) to.adopt(tiers_.directory());
}

// Empty where the tier is absent.
std::vector<int64_t> Restorer::steps_of(const SetStore& store) {
  try {
    return store.steps();
  } catch (const IoError&) {
    if (&store == &tiers_.first()) throw;
    return {};  // open() has said so
  }
}

std::set<int64_t> Restorer::all_steps() {
  std::set<int64_t> steps;
  for (const auto& store : tiers_.stores()) {
    for (const int64_t step : steps_of(*store)) steps.insert(step);
  }
  return steps_of_all("steps", steps);
}

// What any process has of them.
std::set<int64_t> Restorer::steps_of_all(const std::string& what, const std::set<int64_t>& own) {
  std::set<int64_t> steps;
  for (const std::string& said :
       collective_.all(what, [&] { return fmt::format("{}", fmt::join(own, " ")); })) {
    std::istringstream numbers(said);
    for (int64_t step = 0; numbers >> step;) steps.insert(step);
  }
  return steps;
}

void Restorer::refuse_to_begin_on(const std::set<int64_t>& steps) {
  if (steps.empty()) return;
  const int64_t newest = *steps.rbegin();
  // Where it is the set of another rank, no tier of this one may have it.
  const auto holder = std::ranges::find_if(tiers_.stores(), [&](const auto& store) {
    return std::ranges::count(steps_of(*store), newest) > 0;
  });
  const SetStore& named = holder == tiers_.stores().end() ? tiers_.first() : **holder;
  throw Error(
      ExitCode::config,
      fmt::format("{} holds checkpoints up to step {}, and checkpoint.resume is none: go on "
                  "with checkpoint.resume=latest, or give this run another "
                  "checkpoint.directory (or run.name)",
                  named.full_directory(), newest));
}

Restored Restorer::load(std::optional<int64_t> goes_on_from) {
  Restored restored;
  collective_.all("opened", [&] {
    restored.absent = open();
    return "";
  });
  log_.write();
  if (goes_on_from) {
    continue_from(*goes_on_from, restored);
    return restored;
  }
  std::optional<LoadedState>& loaded = restored.state;
  const std::set<int64_t> there = all_steps();
  if (options_.resume.value == "latest") {
    loaded = newest_intact();
  } else if (options_.resume.value != "none") {
    loaded = load_path(options_.resume.value);
  }
  if (options_.resume.value == "none") refuse_to_begin_on(there);
  if (options_.resume.value == "latest" && !loaded) {
    std::vector<std::string> looked;
    for (const auto& store : tiers_.stores()) looked.push_back(store->full_directory());
    log_.info(
        fmt::format("checkpoint.resume: latest found no checkpoint in {}: the run begins "
                    "at step 0",
                    fmt::join(looked, " or ")));
  }
  if (loaded) continue_from(loaded->step(), restored);
  return restored;
}

void Restorer::refuse(size_t store, int64_t step, const Error& error) {
  log_.warn(fmt::format("checkpoint not used: {}", error.what()));
  refused_.insert({store, step});
  if (dynamic_cast<const DamagedSet*>(&error) != nullptr)
    set_aside(*tiers_.stores()[store], step, "damaged");
}

std::optional<LoadedState> Restorer::try_load(int64_t step) {
  std::vector<SetStore*> stores;
  for (const auto& store : tiers_.stores()) stores.push_back(store.get());
  try {
    while (const std::optional<LocatedSet> set = locate(
               collective_, stores, step,
               [&](size_t store) {
                 return !refused_.contains({store, step});
               },
               [&](size_t store, const Error& error) { refuse(store, step, error); })) {
      if (std::optional<LoadedState> loaded = read(*set)) return loaded;
    }
  } catch (const RankLost&) {
    throw;
  } catch (const NoRetry& error) {
    log_.warn(std::string("checkpoint not used: ") + error.what());
  }
  return std::nullopt;
}

// Empty: some of it could not be read, and will not be asked for again.
std::optional<LoadedState> Restorer::read(const LocatedSet& set) {
  const int64_t step = set.manifest.step;
  const SetStore& from = *tiers_.stores()[set.files.front().store];
  LoadedState loaded(set.manifest, from.full_path(step), room_());
  const auto read_own = [&] {
    std::string bad;  // the stores of which a set is not to be read
    for (size_t i = 0; i < tiers_.stores().size(); ++i) {
      const std::vector<size_t> files = set.files_of(group_.rank(), i);
      if (files.empty()) continue;
      try {
        const SetStore& store = *tiers_.stores()[i];
        loaded.read(store.files(), store.path(step), files, options_.resolve_readers());
      } catch (const Error& error) {
        refuse(i, step, error);
        bad += fmt::format("{} ", i);
      }
    }
    return bad;
  };
  bool whole = true;
  const std::vector<std::string> bad = collective_.all(fmt::format("step {} read", step), read_own);
  for (size_t rank = 0; rank < bad.size(); ++rank) {
    std::istringstream stores(bad[rank]);
    for (size_t store = 0; stores >> store; whole = false) {
      const bool guests =
          static_cast<int64_t>(rank) != group_.rank() && tiers_.stores()[store]->shared();
      if (guests && collective_.first() && tiers_.stores()[store]->has(step)) {
        set_aside(*tiers_.stores()[store], step, "damaged");
      }
    }
  }
  if (!whole) return std::nullopt;
  for (size_t file = 0; file < set.files.size(); ++file) {
    group_.broadcast(loaded.file(file), set.files[file].rank);
  }
  return loaded;
}

std::optional<LoadedState> Restorer::newest_intact() {
  const std::set<int64_t> steps = all_steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (std::optional<LoadedState> loaded = try_load(*step)) return loaded;
  }
  if (steps.empty()) return std::nullopt;
  log_.write();
  std::set<int64_t> unreadable;
  for (const auto& [store, step] : refused_) unreadable.insert(step);
  if (steps_of_all("unreadable", unreadable).empty()) {
    // Parts only, of sets that were never committed, or that went with a node: nothing to lose.
    for (const auto& store : tiers_.stores()) {
      for (const int64_t step : steps_of(*store)) set_aside(*store, step, "superseded");
    }
    return std::nullopt;
  }
  throw Error(ExitCode::storage,
              fmt::format("none of the {} checkpoints in {} is intact (see above); to start "
                          "afresh, give this run another checkpoint.directory",
                          steps.size(), tiers_.first().full_directory()));
}

// Which the first process reads for all.
LoadedState Restorer::load_path(const std::string& path) {
  std::optional<LoadedState> loaded;
  const bool others = !all_steps().empty();
  const std::string text = collective_.first_only("the set to go on from", [&] {
    loaded = read_path(path, others);
    return group_.size() > 1 ? manifest_text(loaded->manifest()) : "";
  });
  if (!loaded) loaded.emplace(parse_manifest(text), path, room_());
  for (size_t file = 0; file < loaded->manifest().files.size(); ++file) {
    group_.broadcast(loaded->file(file), 0);
  }
  return *loaded;
}

LoadedState Restorer::read_path(const std::string& path, bool others) {
  fs::path set = fs::weakly_canonical(fs::path(path));
  // As TensorFlow calls a checkpoint: the set around it, where it is one of ours.
  const bool prefix = fs::is_regular_file(path + ".index");
  if (prefix) set = set.parent_path();
  const FileTree tree(set.parent_path().string());
  if (!tree.exists(set.filename().string() + "/" + kManifestName)) {
    const std::string why =
        prefix ? fmt::format(
                     "has tensors of TensorFlow's, but nothing says where a training "
                     "stood (no {} beside them; `stoker checkpoint list {}` shows them)",
                     kManifestName, path)
               : fmt::format("is no checkpoint (no {} in it)", kManifestName);
    throw Error(ExitCode::environment,
                fmt::format("checkpoint.resume: {} {}; give the path of a step-... directory, or "
                            "latest",
                            path, why));
  }
  const bool ours = std::ranges::any_of(tiers_.stores(), [&](const auto& store) {
    if (store->files().tree() == nullptr) return false;
    return fs::weakly_canonical(fs::path(store->full_directory())) == set.parent_path();
  });
  if (!ours && others) {
    throw Error(ExitCode::config,
                fmt::format("checkpoint.resume: {} is another run's, and {} has checkpoints of "
                            "its own; give this run another checkpoint.directory",
                            path, tiers_.first().full_directory()));
  }
  return LoadedState(tree, set.filename().string(), options_.resolve_readers(), room_());
}

void Restorer::set_aside(SetStore& store, int64_t step, const std::string& why) {
  if (store.guest()) return;  // the first process will
  try {
    log_.warn(fmt::format("checkpoint of step {} on tier '{}' is {}: set aside as {}", step,
                          store.tier(), why, store.set_aside(step, why)));
  } catch (const IoError& error) {
    log_.warn(fmt::format("checkpoint of step {} on tier '{}' is {}, but cannot be set aside: {}",
                          step, store.tier(), why, error.what()));
  }
}

// Not needed to go on; restoring would say what is wrong with the set.
void Restorer::read_score(const SetStore& store, int64_t step) {
  try {
    const nlohmann::json training = store.manifest(step).training;
    if (training.contains("score")) {
      retention_.add_score(step, training["score"].get<double>());
    }
  } catch (const std::exception&) {
  }
}

void Restorer::continue_from(int64_t step, Restored& restored) {
  start_step_ = step;
  for (const auto& store : tiers_.stores()) {
    for (const int64_t other : steps_of(*store)) {
      if (other > step) {
        set_aside(*store, other, "superseded");
      } else if (options_.keep_best > 0) {
        read_score(*store, other);
      }
    }
  }
  const std::vector<int64_t> seen = steps_of(tiers_.last());
  std::set<int64_t> durable =
      steps_of_all("on the last tier",
                   collective_.first() ? std::set(seen.begin(), seen.end()) : std::set<int64_t>());
  // A set that is on the fast tier only counts as saved where there is a drain; else it is saved
  // anew.
  restored.saved = tiers_.drains() || durable.contains(step);
  std::set<int64_t> fast;
  if (tiers_.drains()) {
    const std::vector<int64_t> own = tiers_.first().steps();
    fast = steps_of_all("on the fast tier", {own.begin(), own.end()});
  }
  // The newest may have been committed, but not read back, when its process ended.
  if (!durable.empty() && fast.contains(*durable.rbegin())) durable.erase(*durable.rbegin());
  for (const int64_t other : durable) retention_.reached_last(other);
  for (const int64_t other : fast) {
    if (!retention_.on_last(other)) restored.to_drain.push_back(other);
  }
}

void Restorer::last_appeared() {
  SetStore& last = tiers_.last();
  for (const int64_t step : last.steps()) {
    if (tiers_.first().has(step)) continue;  // the drain compares it
    if (step > start_step_) {
      set_aside(last, step, "superseded");
    } else {
      retention_.found_on_last(step);
    }
  }
}

}  // namespace stoker
