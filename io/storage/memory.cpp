#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "io/core/error.h"
#include "io/storage/storage.h"

namespace stoker {
namespace {

using Object = std::vector<uint8_t>;

// Objects in a map: the tier that costs nothing. What is in it dies with it.
class MemoryStorage final : public Storage {
 public:
  struct Options {
    template <class V>
    void visit(V&) {}
    StorageInfo info() const { return {.in_memory = true}; }
  };
  MemoryStorage(Options, const Inputs&) {}

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    std::shared_lock lock(mutex_);
    std::vector<ObjectInfo> result;
    for (auto at = objects_.lower_bound(prefix); at != objects_.end(); ++at) {
      if (!at->first.starts_with(prefix)) break;
      result.push_back({at->first, at->second->size()});
    }
    return result;
  }

  void read(const std::string& key, Buffer& out, Range range) const override {
    const std::shared_ptr<const Object> object = find(key);
    const uint64_t begin = std::min<uint64_t>(range.offset, object->size());
    const uint64_t size = std::min(range.length, object->size() - begin);
    uint8_t* target = out.resize(size);
    if (size > 0) std::memcpy(target, object->data() + begin, size);
  }

  std::unique_ptr<ObjectWriter> create(const std::string& key) override;

  void remove(const std::string& key) override {
    check_key(key);
    std::unique_lock lock(mutex_);
    objects_.erase(key);
  }

  void put(const std::string& key, std::shared_ptr<const Object> object) {
    std::unique_lock lock(mutex_);
    objects_[key] = std::move(object);
  }

 private:
  std::shared_ptr<const Object> find(const std::string& key) const {
    check_key(key);
    std::shared_lock lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) throw_errno("read", key, ENOENT);
    return found->second;
  }

  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<const Object>> objects_;
};

class MemoryWriter final : public ObjectWriter {
 public:
  MemoryWriter(MemoryStorage& storage, std::string key)
      : storage_(storage), key_(std::move(key)), object_(std::make_shared<Object>()) {}
  void append(Bytes bytes) override { object_->insert(object_->end(), bytes.begin(), bytes.end()); }
  void commit() override { storage_.put(key_, std::move(object_)); }

 private:
  MemoryStorage& storage_;
  std::string key_;
  std::shared_ptr<Object> object_;
};

std::unique_ptr<ObjectWriter> MemoryStorage::create(const std::string& key) {
  check_key(key);
  return std::make_unique<MemoryWriter>(*this, key);
}

STOKER_REGISTER(Storage, "memory", MemoryStorage);

}  // namespace
}  // namespace stoker
