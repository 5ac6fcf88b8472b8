#include "app/run/directory.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/neighbours.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Unique among processes that start in the same second on several nodes of a shared file system.
std::string directory_name(const std::string& name) {
  const unsigned random = std::random_device{}() & 0xffff;
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}-{:04x}", name, fmt::localtime(std::time(nullptr)),
                     getpid(), random);
}

// The link is for people. It may be a folder of somebody's, or the file system may have no links.
void point_latest(const std::string& name, const std::string& link, const Notify& warn) {
  try {
    replace_link(name, link);
  } catch (const IoError& error) {
    warn(fmt::format("{}: the run goes on, and {} is not its directory", error.what(), link));
  }
}

}  // namespace

RunDirectory::RunDirectory(const ExperimentOptions& options, RankGroup& group, Notify warn)
    : warn_(std::move(warn)), first_(group.first()) {
  const fs::path parent(options.run.dir.value);
  make_directories(parent.string());
  if (first_) {
    const std::string name = directory_name(options.run.name);
    path_ = (parent / name).string();
    make_directory(path_);
    share(group, name);
  } else {
    path_ = (parent / share(group, "") / fmt::format("rank-{}", group.rank())).string();
    make_directories(path_);
  }
  held_ = open_file("open", path_, O_RDONLY | O_DIRECTORY);
  mark_in_use(held_);
  if (uninterrupted([&] { return ::fstat(held_.get(), &made_); }) != 0)
    throw_errno("open", path_, errno);
}

// The directory is there, so the destructor sees to it if the rest fails.
RunDirectory::RunDirectory(const ExperimentOptions& options,
                           const std::vector<std::string>& overrides, RankGroup& group, Notify warn)
    : RunDirectory(options, group, std::move(warn)) {
  write("config.yaml", resolved_yaml(options));
  std::string lines;
  for (const std::string& assignment : overrides) lines += assignment + "\n";
  write("overrides", lines);
}

// What is in the way of removing it would be no news to anybody: the run has failed for a reason.
RunDirectory::~RunDirectory() {
  std::error_code ignored;
  if (!kept_ && is_at(path_)) fs::remove_all(path_, ignored);
}

void RunDirectory::keep() {
  if (std::exchange(kept_, true) || !first_) return;
  const fs::path path(path_);
  point_latest(path.filename().string(), (path.parent_path() / "latest").string(), warn_);
}

void RunDirectory::write(const std::string& name, const std::string& text) const {
  const Bytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  atomic_write_file(place().value_or(path_) + "/" + name, bytes, AtomicFile::Parents::needed);
}

std::string RunDirectory::moved() const {
  const std::optional<std::string> now = place();
  if (now == path_) return "";
  return path_ + (now ? " was renamed to " + *now : std::string(" was removed"));
}

std::optional<std::string> RunDirectory::place() const {
  if (is_at(path_)) return path_;
  std::error_code error;
  std::string now = fs::read_symlink(fmt::format("/proc/self/fd/{}", held_.get()), error).string();
  return !error && is_at(now) ? std::optional(std::move(now)) : std::nullopt;
}

// Where that cannot be found out, nothing has been moved.
bool RunDirectory::is_at(const std::string& path) const {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return there.st_dev == made_.st_dev && there.st_ino == made_.st_ino;
}

void DigestLog::add(const Batch& batch, const std::string& digests) {
  const std::string digest = xxh3_128(digests);
  if (error_.empty()) write(fmt::format("{},{},{}\n", batch.epoch, batch.index, digest));
  chain_ = xxh3_128(chain_ + digest);
}

void DigestLog::write(const std::string& row) {
  try {
    if (!file_) file_.emplace(path_).write("epoch,batch,digest\n");
    file_->write(row);
  } catch (const IoError& error) {
    error_ = error.what();
    warn_(error_ + ": the training goes on without digests.csv");
  }
}

}  // namespace stoker
