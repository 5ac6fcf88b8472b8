#include "io/storage/open_files.h"

#include <sys/stat.h>

#include <algorithm>

namespace stoker {
namespace {

bool is_unchanged(const ObjectFile& file) {
  struct stat now {};
  return uninterrupted([&] { return ::fstat(file.file.get(), &now); }) == 0 && now.st_nlink > 0 &&
         static_cast<uint64_t>(now.st_size) == file.size;
}

}  // namespace

std::shared_ptr<const ObjectFile> OpenFiles::find(const std::string& key) {
  std::shared_ptr<const ObjectFile> file;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(files_, key, &Entry::first);
    if (found == files_.end()) return nullptr;
    files_.splice(files_.begin(), files_, found);
    file = found->second;
  }
  return is_unchanged(*file) ? file : nullptr;
}

void OpenFiles::keep(const std::string& key, std::shared_ptr<const ObjectFile> file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(files_, [&](const Entry& entry) { return entry.first == key; });
  files_.emplace_front(key, std::move(file));
  if (files_.size() > kMost) files_.pop_back();
}

void OpenFiles::clear() {
  const std::lock_guard lock(mutex_);
  files_.clear();
}

}  // namespace stoker
