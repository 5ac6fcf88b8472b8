#include "io/checkpoint/set_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kLock = "LOCK";
constexpr const char* kLatest = "latest";

}  // namespace

SetStore::SetStore(std::string tier, const FileTree& tree, std::string directory,
                   Durability durability, StoreUse use)
    : tier_(std::move(tier)),
      tree_(tree),
      directory_(std::move(directory)),
      sync_(durability == Durability::fsync),
      use_(use) {}

void SetStore::open_for_writing() {
  if (open_) return;
  tree_.make_directories(directory_);
  if (guest()) {
    open_ = true;
    return;
  }
  if (!lock()) {
    throw Error(
        ExitCode::environment,
        fmt::format("checkpoint directory {}/{} (tier {}) is in use by another process; wait "
                    "for its end, or give this run another checkpoint.directory",
                    tree_.root(), directory_, tier_));
  }
  open_ = true;
}

bool SetStore::lock() {
  FileDescriptor lock = tree_.lock(directory_ + "/" + kLock);
  if (!lock) return false;
  // A killed process may have renamed sets and not synced their names. Else a power loss could take
  // one that we go on from, or bring a name back of which we are about to remove the files.
  if (sync_) tree_.sync_directory(directory_);
  for (const std::string& name : tree_.list(directory_)) {
    if (!is_garbage(name)) continue;
    // A set, or a small file on its way to its name.
    try {
      tree_.remove_directory(directory_ + "/" + name);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOTDIR) throw;
      tree_.remove(directory_ + "/" + name);
    }
  }
  lock_ = std::move(lock);
  return true;
}

void SetStore::adopt(const std::string& directory) {
  const std::vector<std::string> names = tree_.list(directory);
  const auto left_behind = [](const std::string& name) {
    return step_of(name) >= 0 || is_garbage(name);
  };
  if (std::ranges::none_of(names, left_behind)) return;
  SetStore other(tier_, tree_, directory);
  if (!other.lock()) return;
  for (const int64_t step : other.steps()) adopt_set(directory, step);
}

void SetStore::adopt_set(const std::string& from, int64_t step) {
  const std::string source = from + "/" + set_name(step), target = path(step);
  if (!tree_.exists(target)) {
    tree_.rename(source, target);
  } else {
    const Manifest manifest = read_manifest(tree_, source);
    if (manifest_text(manifest) != manifest_text(this->manifest(step))) {
      SetStore(tier_, tree_, from).set_aside(step, "superseded");
      return;
    }
    for (const size_t i : files_here(tree_, source, manifest)) {
      const std::string name = "/" + manifest.files[i].name;
      tree_.replace(source + name, target + name);
    }
    tree_.sync_directory(target);
    tree_.remove_directory(source);
  }
  tree_.sync_directory(directory_);
  tree_.sync_directory(from);
}

std::vector<int64_t> SetStore::steps() const {
  std::vector<int64_t> steps;
  for (const std::string& name : tree_.list(directory_)) {
    if (const int64_t step = step_of(name); step >= 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void SetStore::verify(const Manifest& manifest, const std::vector<size_t>& files, int64_t threads,
                      const ChunkSink& sink) const {
  const std::string set = path(manifest.step);
  if (manifest_text(read_manifest(tree_, set)) != manifest_text(manifest)) {
    throw DamagedSet(full_path(manifest.step) + "/" + kManifestName + ": that of another set");
  }
  const std::vector<size_t> here = files_here(tree_, set, manifest);
  for (const size_t file : files) {
    if (std::ranges::binary_search(here, file)) continue;
    throw DamagedSet(full_path(manifest.step) + "/" + manifest.files[file].name + ": missing");
  }
  read_files(tree_, set, manifest, files, threads, sink);
}

void SetStore::remove(int64_t step) {
  if (guest()) return;
  const std::string garbage = unique_name(directory_ + "/.tmp-old-");
  {
    const std::lock_guard lock(removal_);
    if (!has(step)) return;
    tree_.rename(path(step), garbage);
  }
  // Else a power loss could bring the name back without some of the files.
  if (sync_) tree_.sync_directory(directory_);
  tree_.remove_directory(garbage);
}

std::string SetStore::set_aside(int64_t step, const std::string& why) {
  if (guest()) return full_path(step);
  std::string name = fmt::format("{}/{}-{}", directory_, why, set_name(step));
  for (int number = 2; tree_.exists(name); ++number) {
    name = fmt::format("{}/{}-{}.{}", directory_, why, set_name(step), number);
  }
  tree_.rename(path(step), name);
  tree_.sync_directory(directory_);
  return tree_.root() + "/" + name;
}

void SetStore::point_latest() {
  if (guest()) return;
  const std::lock_guard lock(latest_);
  const std::vector<int64_t> all = steps();
  if (all.empty()) return;
  const std::string newest = set_name(all.back());
  replace_text(kLatest, newest + "\n");
  if (!tree_.exists(path(all.back()) + "/model.ckpt.index")) return;
  // The state file of TensorFlow's Saver, for layout tf_saver.
  std::string text = fmt::format("model_checkpoint_path: \"{}/model.ckpt\"\n", newest);
  for (const int64_t each : all) {
    text += fmt::format("all_model_checkpoint_paths: \"{}/model.ckpt\"\n", set_name(each));
  }
  replace_text("checkpoint", text);
}

void SetStore::replace_text(const std::string& name, const std::string& text) {
  const std::string fresh = unique_name(directory_ + "/.tmp-" + name + "-");
  tree_.write_text(fresh, text, sync_);
  tree_.replace(fresh, directory_ + "/" + name);
  if (sync_) tree_.sync_directory(directory_);
}

}  // namespace stoker
