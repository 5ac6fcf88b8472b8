#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace stoker {

// Which objects a cache holds, is copying, and must leave alone; its limit; and who may do what to
// a key now. Knows no tier: the caller copies and removes. Any thread. Throws std::bad_alloc only.
//
// Only begin_change() blocks, and only until a copy of its key that is under way has ended; so no
// call may be made to it between claim() and publish() or abandon() of the same key by the same
// thread. Looking up takes a shared lock: readers do not wait for each other.
class CacheIndex {
 public:
  // Limit in bytes of all copies.
  explicit CacheIndex(uint64_t limit) : limit_(limit) {}

  // A copy that is there already; counts against the limit, which it may exceed.
  void adopt(const std::string& key, uint64_t bytes);
  // Says that the object under this key is not a copy of ours.
  void avoid(const std::string& key);

  // The size of the copy. Absent: no copy can be read.
  std::optional<uint64_t> find(const std::string& key) const;
  // What all copies take, those under way included.
  uint64_t bytes() const;

  // Taking an object in: claim, read the original, reserve, write the copy, publish. A claim ends
  // with publish() or abandon(). False: there is a copy, or somebody else has the key, or the cache
  // is closed.
  bool claim(const std::string& key);
  // Takes the room for a claimed key's copy. False: it is beyond the limit, or the cache is closed;
  // then abandon the claim.
  bool reserve(const std::string& key, uint64_t bytes);
  // The copy is complete on its tier: from now on find() gives it.
  void publish(const std::string& key);
  // Says that no copy was made after all, and gives back the claim and the room.
  void abandon(const std::string& key);

  // The copy could not be read: it is not read again, and its place stays taken.
  void distrust(const std::string& key);
  // No more copies from now on (the fast tier failed). False: it was closed before.
  bool close();

  // Around a change of the original. begin_change waits for a copy under way; true: the caller
  // removes the copy. Until end_change the key cannot be claimed.
  bool begin_change(const std::string& key);
  void end_change(const std::string& key, bool removed);

 private:
  enum class State { copying, there, distrusted, foreign };
  struct Entry {
    State state = State::copying;
    uint64_t bytes = 0;
  };

  void erase(const std::string& key);

  const uint64_t limit_;
  mutable std::shared_mutex mutex_;
  std::condition_variable_any copied_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::string, int> changing_;  // how many are at it
  uint64_t bytes_ = 0;
  bool closed_ = false;
};

}  // namespace stoker
