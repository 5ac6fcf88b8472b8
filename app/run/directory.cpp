#include "app/run/directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <random>

#include "io/core/system/file.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Unique among processes that start in the same second on several nodes of a shared file system.
std::string directory_name(const std::string& name) {
  const unsigned random = std::random_device{}() & 0xffff;
  return fmt::format("{}-{:%Y%m%d-%H%M%S}-{}-{:04x}", name, fmt::localtime(std::time(nullptr)),
                     getpid(), random);
}

}  // namespace

RunDirectory::RunDirectory(const ExperimentOptions& options,
                           const std::vector<std::string>& overrides, RankGroup& group) {
  const fs::path parent(options.run.dir.value);
  make_directories(parent.string());
  if (group.first()) {
    const std::string name = directory_name(options.run.name);
    path_ = (parent / name).string();
    make_directory(path_);
    replace_link(name, (parent / "latest").string());
    share(group, name);
  } else {
    path_ = (parent / share(group, "") / fmt::format("rank-{}", group.rank())).string();
    make_directories(path_);
  }
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
