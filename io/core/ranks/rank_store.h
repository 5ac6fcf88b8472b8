#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace stoker {

// The store at which the ranks of a training meet: small values by key, for all of them. One object
// is one connection, of one thread; clone() makes one for another. What cannot be done within the
// time-out is Error(ExitCode::device), for then a rank, or a host, is gone. A connection to a host
// that was cut off may hang for longer than any time-out: only a thread that nobody waits for uses
// it then.
class RankStore {
 public:
  virtual ~RankStore() = default;
  // Another connection, with a time-out of its own. Any thread may call it.
  virtual std::unique_ptr<RankStore> clone(std::chrono::milliseconds timeout) const = 0;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Empty: nobody has set it yet. Does not wait.
  virtual std::optional<std::string> find(const std::string& key) = 0;
  virtual void remove(const std::string& key) = 0;
};

}  // namespace stoker
