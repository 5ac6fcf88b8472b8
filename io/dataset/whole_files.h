#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "io/core/system/memory.h"
#include "io/storage/storage.h"

namespace stoker {

// Files of a tier, each read as a whole when it is first asked for: the `keep` of them that were
// asked for last stay in memory, beside those that are still held. So who goes through a file's
// samples one after another reads it once. Any thread; the tier must outlive it.
class WholeFiles {
 public:
  WholeFiles(const Storage& tier, size_t keep) : tier_(tier), keep_(keep) {}

  // The bytes of an object, valid and unchanged as long as they are held. One thread reads it,
  // others that ask for it meanwhile wait. IoError as the tier's; the next call tries again.
  std::shared_ptr<const Buffer> get(const std::string& key);

 private:
  struct File {
    std::string key;
    std::mutex reading;  // guards what follows
    bool there = false;
    Buffer bytes;
  };
  // The entry of that key, which is the newest now.
  std::shared_ptr<File> newest(const std::string& key);

  const Storage& tier_;
  const size_t keep_;
  std::mutex mutex_;
  std::list<std::shared_ptr<File>> files_;  // the newest first
};

}  // namespace stoker
