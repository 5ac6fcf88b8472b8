#include "io/core/system/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {

TemporaryFolder::TemporaryFolder(const std::string& use)
    : TemporaryFolder(std::filesystem::temp_directory_path().string(), "stoker-" + use + "-") {}

TemporaryFolder::TemporaryFolder(const std::string& place, const std::string& prefix)
    : path_((std::filesystem::path(place) / (prefix + std::string(6, 'X'))).string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw_errno("make", path_, errno);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace stoker
