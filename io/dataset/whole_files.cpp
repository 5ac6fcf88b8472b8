#include "io/dataset/whole_files.h"

#include <algorithm>

namespace stoker {

std::shared_ptr<const Buffer> WholeFiles::get(const std::string& key) {
  const std::shared_ptr<File> file = newest(key);
  const std::lock_guard lock(file->reading);
  if (!file->there) tier_.read(key, file->bytes);
  file->there = true;
  return {file, &file->bytes};
}

std::shared_ptr<WholeFiles::File> WholeFiles::newest(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(files_, key, [](const auto& file) { return file->key; });
  if (known != files_.end()) {
    files_.splice(files_.begin(), files_, known);
  } else {
    files_.push_front(std::make_shared<File>());
    files_.front()->key = key;
    if (files_.size() > keep_) files_.pop_back();
  }
  return files_.front();
}

}  // namespace stoker
