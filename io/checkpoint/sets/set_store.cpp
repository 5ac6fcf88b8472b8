#include "io/checkpoint/sets/set_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "io/checkpoint/sets/file_sets.h"
#include "io/checkpoint/sets/object_sets.h"
#include "io/core/error.h"

namespace stoker {

SetStore::SetStore(std::string tier, const FileTree& tree, std::string directory,
                   const StoreOptions& options)
    : tier_(std::move(tier)),
      files_(tree),
      directory_(std::move(directory)),
      use_(options.use),
      sets_(std::make_unique<FileSets>(tier_, tree, directory_, options.durability, guest(),
                                       options.warn)) {}

SetStore::SetStore(std::string tier, Storage& objects, std::string directory,
                   const StoreOptions& options)
    : tier_(std::move(tier)),
      files_(objects, tier_),
      directory_(std::move(directory)),
      use_(options.use),
      sets_(std::make_unique<ObjectSets>(tier_, objects, directory_, options.run, guest(),
                                         options.warn)) {}

void SetStore::open_for_writing() {
  if (open_) return;
  sets_->claim();
  open_ = true;
}

std::unique_ptr<SetWriter> SetStore::begin(int64_t step, const std::string& place) {
  return sets_->begin(step, place);
}

std::string SetStore::path(int64_t step) const {
  std::string named = directory_ + "/" + set_name(step);
  if (files_.tree() != nullptr) return named;
  return files_.find(directory_, step).value_or(named);
}

std::vector<int64_t> SetStore::steps() const {
  std::vector<int64_t> steps;
  for (const SetEntry& set : files_.entries(directory_)) {
    if (set.step >= 0) steps.push_back(set.step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

void SetStore::verify(const Manifest& manifest, const std::vector<size_t>& files, int64_t threads,
                      const ChunkSink& sink) const {
  const std::string set = path(manifest.step);
  if (manifest_text(read_manifest(files_, set)) != manifest_text(manifest)) {
    throw DamagedSet(files_.full(set) + "/" + kManifestName + ": that of another set");
  }
  const std::vector<size_t> here = files_here(files_, set, manifest);
  for (const size_t file : files) {
    if (std::ranges::binary_search(here, file)) continue;
    throw DamagedSet(files_.full(set) + "/" + manifest.files[file].name + ": missing");
  }
  read_files(files_, set, manifest, files, threads, sink);
}

void SetStore::remove(int64_t step) {
  if (!guest()) sets_->remove(step);
}

std::string SetStore::set_aside(int64_t step, const std::string& why) {
  return guest() ? full_path(step) : sets_->set_aside(step, why);
}

void SetStore::point_latest() {
  if (guest()) return;
  const std::lock_guard lock(latest_);
  std::map<int64_t, std::string> all;
  for (const SetEntry& set : files_.entries(directory_)) {
    if (set.step >= 0) all.emplace(set.step, set.name);
  }
  if (all.empty()) return;
  const std::string newest = all.rbegin()->second;
  sets_->replace_text("latest", newest + "\n");
  if (!files_.exists(directory_ + "/" + newest + "/" + kBundlePrefix + ".index")) return;
  // The state file of TensorFlow's Saver, for layout tf_saver.
  std::string text = fmt::format("model_checkpoint_path: \"{}/model.ckpt\"\n", newest);
  for (const auto& [step, name] : all) {
    text += fmt::format("all_model_checkpoint_paths: \"{}/model.ckpt\"\n", name);
  }
  sets_->replace_text("checkpoint", text);
}

std::unique_ptr<SetStore> sets_on(const std::string& tier, Storage& storage,
                                  const std::string& directory, const StoreOptions& options) {
  if (const FileTree* tree = files_of(storage)) {
    return std::make_unique<SetStore>(tier, *tree, directory, options);
  }
  return std::make_unique<SetStore>(tier, storage, directory, options);
}

namespace {

// How a process says how its work went, before what it has to say.
constexpr char kDone = '+', kAgain = '-', kNever = '!';

}  // namespace

Collective::Collective(RankGroup& group, const std::string& channel, std::function<bool()> go_on)
    : group_(group), channel_("checkpoints/" + channel), go_on_(std::move(go_on)) {}

std::vector<std::string> Collective::all(const std::string& what,
                                         const std::function<std::string()>& work) {
  if (group_.size() == 1) return {work()};
  std::string said;
  std::exception_ptr failure;
  try {
    said = kDone + work();
  } catch (const NoRetry& error) {
    said = kNever + std::string(error.what());
    failure = std::current_exception();
  } catch (const std::exception& error) {
    said = kAgain + std::string(error.what());
    failure = std::current_exception();
  }
  const std::string mark = what + "\n";
  std::vector<std::string> all = group_.meet(channel_, mark + said, go_on_);
  if (failure) std::rethrow_exception(failure);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].starts_with(mark)) {
      throw NoRetry(ExitCode::bug, fmt::format("checkpoints: '{}' here, '{}' on rank {}", what,
                                               all[rank].substr(0, all[rank].find('\n')), rank));
    }
    const char how = all[rank][mark.size()];
    all[rank].erase(0, mark.size() + 1);
    if (how == kDone) continue;
    throw OtherFailed(fmt::format("rank {}: {}", rank, all[rank]), how == kAgain);
  }
  return all;
}

std::string Collective::first_only(const std::string& what,
                                   const std::function<std::string()>& work) {
  return all(what, [&] { return first() ? work() : std::string(); }).front();
}

}  // namespace stoker
