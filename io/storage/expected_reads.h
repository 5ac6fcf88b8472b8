#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "io/storage/storage.h"

namespace stoker {

// What is read, with a key of its own. A value.
struct ExpectedRead {
  std::string key;
  Range range;
  bool operator==(const ExpectedRead&) const = default;
};

// The bookkeeping behind Storage::expect(): reads that are begun before anybody asks for them. Read
// is what the tier makes of one: movable, and it gives up what it holds when it is destroyed.
//
// Together the reads that are begun hold at most `limit` bytes. Further ones wait for room, in
// their order. What nobody asks for while others are asked for again and again is dropped, the
// oldest first.
//
// Any thread. `begin` is called under the lock: it must not block, nor call back. What it throws is
// dropped, for hints fail nothing.
template <class Read>
class ExpectedReads {
 public:
  using Begin = std::function<Read(const ExpectedRead& what)>;

  ExpectedReads(uint64_t limit, Begin begin) : limit_(limit), begin_(std::move(begin)) {}

  // Says that `what` will be asked for, and that it holds `bytes` bytes. A range that is known
  // already or can never fit is passed over.
  void add(const ObjectRange& what, uint64_t bytes) {
    if (bytes > limit_) return;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return;
    const auto [place, is_new] = places_.try_emplace({std::string(what.key), what.range});
    if (!is_new) return;
    waiting_.push_back({place->first, bytes, 0, std::nullopt});
    place->second = std::prev(waiting_.end());
    begin_waiting();
  }

  // The read of just that key and range, which is the caller's from then on. Nothing: it was not
  // expected, or not begun yet, or dropped.
  std::optional<Read> take(const std::string& key, const Range& range) {
    const std::lock_guard lock(mutex_);
    if (places_.empty()) return std::nullopt;
    ++asked_;
    const auto found = places_.find({key, range});
    std::optional<Read> read;
    if (found != places_.end()) read = remove(found->second);
    begin_waiting();
    return read;
  }

  // The object is another one now: what was begun of it counts no more.
  void forget(const std::string& key) {
    const std::lock_guard lock(mutex_);
    for (auto* list : {&begun_, &waiting_}) {
      for (auto at = list->begin(); at != list->end();) {
        const auto entry = at++;
        if (entry->what.key == key) remove(entry);
      }
    }
    begin_waiting();
  }

 private:
  static constexpr size_t kMostWaiting = 1 << 18;

  struct Entry {
    ExpectedRead what;
    uint64_t bytes;
    uint64_t begun_at;  // asked_ of that time
    std::optional<Read> read;
  };
  using Place = typename std::list<Entry>::iterator;
  struct Hash {
    size_t operator()(const ExpectedRead& what) const {
      return std::hash<std::string>()(what.key) ^ (what.range.offset * 0x9e3779b97f4a7c15u) ^
             what.range.length;
    }
  };

  std::optional<Read> remove(Place place) {
    std::optional<Read> read = std::move(place->read);
    places_.erase(place->what);
    if (read) held_ -= place->bytes;
    (read ? begun_ : waiting_).erase(place);
    return read;
  }

  // Readers take about the order in which reads were begun; so one that is passed by several times
  // as many as are held was not meant after all.
  bool stale(const Entry& oldest) const {
    return asked_ - oldest.begun_at > 4 * begun_.size() + 64;
  }

  void begin_waiting() {
    while (!waiting_.empty()) {
      Entry& next = waiting_.front();
      while (next.bytes > limit_ - held_ && !begun_.empty() && stale(begun_.front())) {
        remove(begun_.begin());
      }
      if (next.bytes > limit_ - held_) return;
      try {
        next.read = begin_(next.what);
      } catch (...) {
        remove(waiting_.begin());
        continue;
      }
      next.begun_at = asked_;
      held_ += next.bytes;
      begun_.splice(begun_.end(), waiting_, waiting_.begin());
    }
  }

  const uint64_t limit_;
  const Begin begin_;
  std::mutex mutex_;
  uint64_t held_ = 0;
  uint64_t asked_ = 0;
  std::list<Entry> begun_;  // the oldest first
  std::list<Entry> waiting_;
  std::unordered_map<ExpectedRead, Place, Hash> places_;
};

}  // namespace stoker
