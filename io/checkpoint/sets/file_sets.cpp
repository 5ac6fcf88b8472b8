#include "io/checkpoint/sets/file_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "io/checkpoint/restoring/read_set.h"
#include "io/checkpoint/sets/file_set_writer.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"

namespace stoker {
namespace {

constexpr const char* kLock = "LOCK";

}  // namespace

FileSets::FileSets(std::string tier, const FileTree& tree, std::string directory,
                   Durability durability, bool guest, Notify warn)
    : tier_(std::move(tier)),
      tree_(tree),
      directory_(std::move(directory)),
      durability_(durability),
      sync_(durability == Durability::fsync),
      guest_(guest),
      warn_(std::move(warn)) {}

void FileSets::claim() {
  try {
    tree_.make_directories(directory_, sync_);
    if (guest_ || lock()) return;
  } catch (const IoError& error) {
    if (!sync_ || !is_unsupported(error.errno_value())) throw;
    throw Error(
        ExitCode::environment,
        fmt::format("{}: the file system of tier '{}' cannot do what checkpoint.durability: "
                    "fsync needs: do without by checkpoint.durability=none, or name "
                    "another tier",
                    error.what(), tier_));
  }
  throw Error(ExitCode::environment,
              fmt::format("checkpoint directory {}/{} (tier {}) is in use by another process; wait "
                          "for its end, or give this run another checkpoint.directory",
                          tree_.root(), directory_, tier_));
}

std::unique_ptr<SetWriter> FileSets::begin(int64_t step, const std::string& place) {
  return std::make_unique<FileSetWriter>(tree_, directory_, step, durability_, place, [this] {
    warn_once("direct I/O", fmt::format("tier '{}' takes no direct I/O: checkpoints are written "
                                        "and read back through the page cache",
                                        tier_));
  });
}

bool FileSets::lock() {
  FileDescriptor lock;
  try {
    lock = tree_.lock(directory_ + "/" + kLock);
    if (!lock) return false;
  } catch (const IoError& error) {
    if (!has_no_locks(error.errno_value())) throw;
    warn_once("locks",
              fmt::format("tier '{}' has no file locks ({}): nothing keeps another process "
                          "out of this directory; give each run a checkpoint.directory of "
                          "its own",
                          tier_, error.what()));
  }
  // A killed process may have renamed sets and not synced their names. Else a power loss could take
  // one that we go on from, or bring a name back of which we are about to remove the files.
  if (sync_) tree_.sync_directory(directory_);
  for (const std::string& name : tree_.list(directory_)) {
    if (!is_garbage(name)) continue;
    discard(directory_ + "/" + name);
  }
  lock_ = std::move(lock);
  return true;
}

// A set, or a small file on its way to its name.
void FileSets::discard(const std::string& path) {
  try {
    try {
      tree_.remove_directory(path);
    } catch (const IoError& error) {
      if (error.errno_value() != ENOTDIR) throw;
      tree_.remove(path);
    }
  } catch (const IoError& error) {
    warn_once(
        "leftovers",
        fmt::format("tier '{}': what is left of a checkpoint cannot be removed: {}; it stays, "
                    "and the next start tries again",
                    tier_, error.what()));
  }
}

void FileSets::warn_once(const std::string& what, const std::string& line) {
  {
    const std::lock_guard lock(warning_);
    if (!warned_.insert(what).second) return;
  }
  if (warn_) warn_(line);
}

void FileSets::adopt(const std::string& directory) {
  const std::vector<std::string> names = tree_.list(directory);
  const auto left_behind = [](const std::string& name) {
    return step_of(name) >= 0 || is_garbage(name);
  };
  if (std::ranges::none_of(names, left_behind)) return;
  FileSets other(tier_, tree_, directory, durability_, false, warn_);
  if (!other.lock()) return;
  for (const std::string& name : tree_.list(directory)) {
    if (const int64_t step = step_of(name); step >= 0) adopt_set(other, step);
  }
}

void FileSets::adopt_set(FileSets& from, int64_t step) {
  const std::string source = from.path(step), target = path(step);
  if (!tree_.exists(target)) {
    tree_.rename(source, target);
  } else {
    const Manifest manifest = read_manifest(tree_, source);
    if (manifest_text(manifest) != manifest_text(read_manifest(tree_, target))) {
      from.set_aside(step, "superseded");
      return;
    }
    for (const size_t i : files_here(tree_, source, manifest)) {
      const std::string name = "/" + manifest.files[i].name;
      tree_.replace(source + name, target + name);
    }
    if (sync_) tree_.sync_directory(target);
    from.remove(step);
  }
  if (!sync_) return;
  tree_.sync_directory(directory_);
  tree_.sync_directory(from.directory_);
}

void FileSets::remove(int64_t step) {
  const std::string garbage = garbage_name(directory_, "old");
  {
    const std::lock_guard lock(removal_);
    if (!tree_.exists(path(step))) return;
    tree_.rename(path(step), garbage);
  }
  // Else a power loss could bring the name back without some of the files.
  if (sync_) tree_.sync_directory(directory_);
  discard(garbage);
}

std::string FileSets::set_aside(int64_t step, const std::string& why) {
  std::string name = fmt::format("{}/{}-{}", directory_, why, set_name(step));
  for (int number = 2; tree_.exists(name); ++number) {
    name = fmt::format("{}/{}-{}.{}", directory_, why, set_name(step), number);
  }
  tree_.rename(path(step), name);
  if (sync_) tree_.sync_directory(directory_);
  return tree_.root() + "/" + name;
}

void FileSets::replace_text(const std::string& name, const std::string& text) {
  const std::string fresh = garbage_name(directory_, name);
  try {
    tree_.write_text(fresh, text, sync_);
    tree_.replace(fresh, directory_ + "/" + name);
  } catch (const IoError&) {
    discard(fresh);
    throw;
  }
  if (sync_) tree_.sync_directory(directory_);
}

}  // namespace stoker
