#include "io/checkpoint/set_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "io/core/error.h"

namespace stoker {
namespace {

constexpr const char* kLock = "LOCK";
constexpr const char* kLatest = "latest";

}  // namespace

SetStore::SetStore(std::string tier, const FileTree& tree, std::string directory)
    : tier_(std::move(tier)), tree_(tree), directory_(std::move(directory)) {}

void SetStore::open_for_writing() {
  if (lock_) return;
  tree_.make_directories(directory_);
  lock_ = tree_.lock(directory_ + "/" + kLock);
  if (!lock_) {
    throw Error(
        ExitCode::environment,
        fmt::format("checkpoint directory {}/{} (tier {}) is in use by another process; wait "
                    "for its end, or give this run another checkpoint.directory",
                    tree_.root(), directory_, tier_));
  }
  for (const std::string& name : tree_.list(directory_)) {
    if (!is_garbage(name)) continue;
    // A set, or a small file on its way to its name.
    try {
      tree_.remove_directory(directory_ + "/" + name);
    } catch (const IoError&) {
      tree_.remove(directory_ + "/" + name);
    }
  }
}

std::vector<int64_t> SetStore::steps() const {
  std::vector<int64_t> steps;
  for (const std::string& name : tree_.list(directory_)) {
    if (const int64_t step = step_of(name); step >= 0) steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void SetStore::remove(int64_t step) {
  if (!has(step)) return;
  std::random_device random;
  const std::string garbage =
      fmt::format("{}/.tmp-old-{:08x}{:08x}", directory_, random(), random());
  tree_.rename(path(step), garbage);
  // Else a power loss could bring the name back without some of the files.
  tree_.sync_directory(directory_);
  tree_.remove_directory(garbage);
}

std::string SetStore::set_aside(int64_t step, const std::string& why) {
  std::string name = fmt::format("{}/{}-{}", directory_, why, set_name(step));
  for (int number = 2; tree_.exists(name); ++number) {
    name = fmt::format("{}/{}-{}.{}", directory_, why, set_name(step), number);
  }
  tree_.rename(path(step), name);
  tree_.sync_directory(directory_);
  return tree_.root() + "/" + name;
}

void SetStore::point_latest(int64_t step, Durability durability) {
  const bool sync = durability == Durability::fsync;
  replace_text(kLatest, set_name(step) + "\n", sync);
  const std::vector<int64_t> all = steps();
  if (!tree_.exists(path(step) + "/model.ckpt.index")) return;
  // The state file of TensorFlow's Saver, for layout tf_saver.
  std::string text = fmt::format("model_checkpoint_path: \"{}/model.ckpt\"\n", set_name(step));
  for (const int64_t each : all) {
    text += fmt::format("all_model_checkpoint_paths: \"{}/model.ckpt\"\n", set_name(each));
  }
  replace_text("checkpoint", text, sync);
}

void SetStore::replace_text(const std::string& name, const std::string& text, bool sync) {
  std::random_device random;
  const std::string fresh = fmt::format("{}/.tmp-{}-{:08x}", directory_, name, random());
  tree_.write_text(fresh, text, sync);
  tree_.replace(fresh, directory_ + "/" + name);
  if (sync) tree_.sync_directory(directory_);
}

}  // namespace stoker
