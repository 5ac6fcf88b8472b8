#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "io/core/error.h"
#include "io/core/threads.h"

namespace stoker {

// Values that are costly to make and that several threads want at once: the first that asks for one
// makes it, and the others wait for it. Those that were asked for last stay, as many as fit into a
// limit of bytes, and one at least. Any thread.
template <class T>
class KeptValues {
 public:
  using Value = std::shared_ptr<const T>;

  explicit KeptValues(uint64_t limit) : limit_(limit) {}

  // The value of that key, which has so many bytes: what make() returns, or returned for somebody
  // else. A BadSample of make() is kept in its place. Whatever else it throws is passed on, and the
  // next that asks makes it anew. Interrupted while it waits.
  Value get(const std::string& key, uint64_t bytes, const std::function<Value()>& make) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Entry> entry = newest(key, bytes);
    wait_interruptibly(changed_, lock, [&] { return !entry->being_made; });
    if (entry->bad) throw *entry->bad;
    if (entry->value) return entry->value;
    entry->being_made = true;
    lock.unlock();
    const Making making(*this, *entry);
    try {
      Value value = make();
      lock.lock();
      entry->value = value;
      lock.unlock();
      return value;
    } catch (const BadSample& bad) {
      lock.lock();
      entry->bad = bad;
      lock.unlock();
      throw;
    }
  }

 private:
  struct Entry {
    std::string key;
    uint64_t bytes = 0;
    bool being_made = false;
    Value value;
    std::optional<BadSample> bad;
  };
  using Entries = std::list<std::shared_ptr<Entry>>;

  // However the making ends, those that wait go on.
  class Making {
   public:
    Making(KeptValues& all, Entry& entry) : all_(all), entry_(entry) {}
    ~Making() {
      const std::lock_guard lock(all_.mutex_);
      entry_.being_made = false;
      all_.changed_.notify_all();
    }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

   private:
    KeptValues& all_;
    Entry& entry_;
  };

  // The entry of that key, which is the newest now. With the lock.
  std::shared_ptr<Entry> newest(const std::string& key, uint64_t bytes) {
    const auto known = places_.find(key);
    if (known != places_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return entries_.front();
    }
    auto entry = std::make_shared<Entry>();
    entry->key = key;
    entry->bytes = bytes;
    entries_.push_front(entry);
    places_[key] = entries_.begin();
    held_ += bytes;
    while (held_ > limit_ && entries_.size() > 1) {
      held_ -= entries_.back()->bytes;
      places_.erase(entries_.back()->key);
      entries_.pop_back();
    }
    return entry;
  }

  const uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Entries entries_;  // the newest first
  std::unordered_map<std::string, typename Entries::iterator> places_;
  uint64_t held_ = 0;
};

}  // namespace stoker
