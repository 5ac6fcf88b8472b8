#include "io/storage/cached/cache_index.h"

#include <mutex>
#include <utility>

namespace stoker {

void CacheIndex::adopt(const std::string& key, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  entries_[key] = {State::there, bytes};
  bytes_ += bytes;
}

void CacheIndex::avoid(const std::string& key) {
  const std::lock_guard lock(mutex_);
  entries_[key] = {State::foreign, 0};
}

std::optional<uint64_t> CacheIndex::find(const std::string& key) const {
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.state != State::there) return std::nullopt;
  return found->second.bytes;
}

uint64_t CacheIndex::bytes() const {
  const std::shared_lock lock(mutex_);
  return bytes_;
}

bool CacheIndex::claim(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (closed_ || changing_.contains(key)) return false;
  return entries_.try_emplace(key).second;
}

bool CacheIndex::reserve(const std::string& key, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_ || bytes > limit_ || bytes_ > limit_ - bytes) return false;
  entries_.at(key).bytes = bytes;
  bytes_ += bytes;
  return true;
}

void CacheIndex::publish(const std::string& key) {
  const std::lock_guard lock(mutex_);
  entries_.at(key).state = State::there;
  copied_.notify_all();
}

void CacheIndex::abandon(const std::string& key) {
  const std::lock_guard lock(mutex_);
  erase(key);
  copied_.notify_all();
}

void CacheIndex::distrust(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.state == State::there) {
    found->second.state = State::distrusted;
  }
}

bool CacheIndex::close() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(closed_, true);
}

bool CacheIndex::begin_change(const std::string& key) {
  std::unique_lock lock(mutex_);
  ++changing_[key];
  const auto copying = [&] {
    const auto found = entries_.find(key);
    return found != entries_.end() && found->second.state == State::copying;
  };
  copied_.wait(lock, [&] { return !copying(); });
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.state == State::foreign) return false;
  found->second.state = State::distrusted;
  return true;
}

void CacheIndex::end_change(const std::string& key, bool removed) {
  const std::lock_guard lock(mutex_);
  if (removed) erase(key);
  if (--changing_[key] == 0) changing_.erase(key);
}

void CacheIndex::erase(const std::string& key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  bytes_ -= found->second.bytes;
  entries_.erase(found);
}

}  // namespace stoker
