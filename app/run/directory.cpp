#include "app/run/directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>

#include "io/core/error.h"
#include "io/core/file.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Unique among processes that start in the same second on several nodes of a shared file system.
std::string directory_name(const std::string& name) {
  const unsigned random = std::random_device{}() & 0xffff;
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}-{:04x}", name, fmt::localtime(std::time(nullptr)),
                     getpid(), random);
}

// A link is replaced by renaming a new one over it, so that `latest` always exists.
void point_latest(const fs::path& parent, const std::string& name) {
  const fs::path link = parent / "latest", fresh = parent / (".latest-" + name);
  std::error_code error;
  fs::create_directory_symlink(name, fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) throw IoError("link " + link.string() + ": " + error.message(), error.value());
}

}  // namespace

RunDirectory::RunDirectory(const ExperimentOptions& options,
                           const std::vector<std::string>& overrides) {
  const fs::path parent(options.run.dir.value);
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) throw IoError("create " + parent.string() + ": " + error.message(), error.value());
  const std::string name = directory_name(options.run.name);
  path_ = (parent / name).string();
  if (mkdir(path_.c_str(), 0777) != 0) throw_errno("create", path_, errno);
  point_latest(parent, name);
  write("config.yaml", resolved_yaml(options));
  std::string lines;
  for (const std::string& assignment : overrides) lines += assignment + "\n";
  write("overrides", lines);
}

void RunDirectory::write(const std::string& name, const std::string& text) const {
  const Bytes bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  atomic_write_file(path_ + "/" + name, bytes);
}

}  // namespace stoker
