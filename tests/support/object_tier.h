#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/storage.h"
#include "tests/support/storages.h"

namespace stoker {

// A tier without files over objects that outlive it, as a bucket outlives a process. Any thread.
class ObjectTier final : public Storage {
 public:
  // Called before each operation: it may throw, and then nothing is done; or after it: then it is
  // done and reported as failed. `op` is "list", "read", "create", "append", "commit" or "remove".
  using Hook = std::function<void(const std::string& op, const std::string& key)>;
  explicit ObjectTier(std::shared_ptr<Storage> objects, Hook before = {}, Hook after = {})
      : objects_(std::move(objects)), before_(std::move(before)), after_(std::move(after)) {
    for (Hook* hook : {&before_, &after_}) {
      if (!*hook) *hook = [](const std::string&, const std::string&) {};
    }
  }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    before_("list", prefix);
    return objects_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    before_("read", key);
    objects_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    before_("create", key);
    return std::make_unique<Writer>(*this, key, objects_->create(key));
  }
  void remove(const std::string& key) override {
    before_("remove", key);
    objects_->remove(key);
    after_("remove", key);
  }

 private:
  class Writer final : public ObjectWriter {
   public:
    Writer(const ObjectTier& tier, std::string key, std::unique_ptr<ObjectWriter> inner)
        : tier_(tier), key_(std::move(key)), inner_(std::move(inner)) {}
    void append(Bytes bytes) override {
      tier_.before_("append", key_);
      inner_->append(bytes);
    }
    void commit() override {
      tier_.before_("commit", key_);
      inner_->commit();
      tier_.after_("commit", key_);
    }

   private:
    const ObjectTier& tier_;
    const std::string key_;
    const std::unique_ptr<ObjectWriter> inner_;
  };

  const std::shared_ptr<Storage> objects_;
  Hook before_;
  Hook after_;  // of what changes something
};

// All keys of a tier, and how to change an object as damage does.
inline std::vector<std::string> keys_of(const Storage& tier, const std::string& prefix = "") {
  std::vector<std::string> keys;
  for (const ObjectInfo& object : tier.list(prefix)) keys.push_back(object.key);
  return keys;
}

}  // namespace stoker
