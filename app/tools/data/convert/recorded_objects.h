#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/storage.h"

namespace stoker {

// Another tier, as it is while one shard is written: it remembers which objects were made, and how
// many bytes each has. One thread at a time; the other tier must outlive it. Fails as that does.
class RecordedObjects final : public Storage, public KeepsFiles {
 public:
  explicit RecordedObjects(Storage& inner) : inner_(inner) {}
  // The objects in the order of their commits.
  std::vector<ObjectInfo> take() { return std::exchange(objects_, {}); }

  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_.list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    inner_.read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return std::make_unique<Writer>(*this, key);
  }
  void remove(const std::string& key) override { inner_.remove(key); }
  const FileTree* files() const override { return files_of(inner_); }

 private:
  class Writer final : public ObjectWriter {
   public:
    Writer(RecordedObjects& of, const std::string& key)
        : of_(of), object_{key, 0}, inner_(of.inner_.create(key)) {}
    void append(Bytes bytes) override {
      inner_->append(bytes);
      object_.bytes += bytes.size();
    }
    void commit() override {
      inner_->commit();
      of_.objects_.push_back(object_);
    }

   private:
    RecordedObjects& of_;
    ObjectInfo object_;
    const std::unique_ptr<ObjectWriter> inner_;
  };

  Storage& inner_;
  std::vector<ObjectInfo> objects_;
};

}  // namespace stoker
