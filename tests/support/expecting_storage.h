#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/storage/storage.h"

namespace stoker {

// Another tier, which keeps what was announced and what was then asked for. One thread.
class ExpectingStorage final : public Storage {
 public:
  explicit ExpectingStorage(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  std::vector<ObjectInfo> list(const std::string& prefix) const override {
    return inner_->list(prefix);
  }
  void read(const std::string& key, Buffer& out, Range range) const override {
    reads_.push_back({key, range});
    inner_->read(key, out, range);
  }
  std::unique_ptr<ObjectWriter> create(const std::string& key) override {
    return inner_->create(key);
  }
  void remove(const std::string& key) override { inner_->remove(key); }
  void expect(std::span<const ObjectRange> reads) const override {
    expected_.insert(expected_.end(), reads.begin(), reads.end());
  }
  // Each since its last call.
  std::vector<ObjectRange> reads() const { return std::exchange(reads_, {}); }
  std::vector<ObjectRange> expected() const { return std::exchange(expected_, {}); }

 private:
  const std::unique_ptr<Storage> inner_;
  mutable std::vector<ObjectRange> reads_;
  mutable std::vector<ObjectRange> expected_;
};

}  // namespace stoker
