#include "app/tools/cold/cache_survey.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/core/error.h"
#include "io/core/system/file.h"

namespace stoker {
namespace {

// O_NONBLOCK: a pipe that took a file's place must not hold us up.
FileDescriptor open_to_look(const std::string& path) {
  return FileDescriptor(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
}

}  // namespace

void CacheSurvey::add(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw_errno("look at", path, errno);
  add_entry(path);
}

void CacheSurvey::add_entry(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    unreadable_.push_back({path, std::strerror(errno)});
    return;
  }
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) return;
  if (!seen_.emplace(status.st_dev, status.st_ino).second) return;
  if (S_ISDIR(status.st_mode)) {
    add_folder(path);
    return;
  }
  const FileDescriptor descriptor = open_to_look(path);
  if (!descriptor || ::fstat(descriptor.get(), &status) != 0) {
    unreadable_.push_back({path, std::strerror(errno)});
    return;
  }
  if (!S_ISREG(status.st_mode)) return;
  SurveyedFile file{path, {status.st_dev, status.st_ino}};
  file.file_system = &file_systems_.of(descriptor.get(), status.st_dev);
  look_at(file, descriptor.get());
  files_.push_back(std::move(file));
}

void CacheSurvey::add_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    add_entry(at->path().string());
  }
  if (error) unreadable_.push_back({folder, error.message()});
}

void CacheSurvey::look_at(SurveyedFile& file, int descriptor) const {
  struct stat status {};
  if (::fstat(descriptor, &status) == 0) file.bytes = static_cast<uint64_t>(status.st_size);
  file.cached_bytes = cached_bytes(descriptor, file.bytes);
  if (!with_ranges_ || !file.cached_bytes) return;
  file.ranges = cached_ranges(descriptor, file.bytes).value_or(std::vector<CachedRange>());
}

void CacheSurvey::evict_file(SurveyedFile& file) {
  const auto failed = [&](const std::string& why) {  // in both rounds, maybe
    if (std::ranges::find(unreadable_, file.path, &UnreadableFile::path) == unreadable_.end()) {
      unreadable_.push_back({file.path, why});
    }
  };
  const FileDescriptor descriptor = open_to_look(file.path);
  if (!descriptor) return failed(std::strerror(errno));
  try {
    evict_pages(descriptor.get(), file.path);
  } catch (const IoError& error) {
    failed(error.what());
  }
  look_at(file, descriptor.get());
}

void CacheSurvey::evict() {
  for (int round = 0; round < 2; ++round) {
    for (SurveyedFile& file : files_) {
      const bool none = file.cached_bytes == 0u;
      if (!none && file.file_system->kind != CacheKind::memory) evict_file(file);
    }
  }
}

}  // namespace stoker
