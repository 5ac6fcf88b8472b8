#include "app/base/rank_directories.h"

#include <fmt/format.h>

#include <filesystem>

namespace stoker {

std::vector<std::string> directories_of_ranks(const std::string& directory) {
  std::vector<std::string> all{directory};
  for (int rank = 1;; ++rank) {
    const std::string other = fmt::format("{}/rank-{}", directory, rank);
    if (!std::filesystem::is_directory(other)) return all;
    all.push_back(other);
  }
}

}  // namespace stoker
