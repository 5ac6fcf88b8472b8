#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/distributed/ranks.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace stoker {

// The store at which the ranks of a training meet (c10d's TCPStore): small values by key. One
// object is one connection, of one thread; clone() makes one for another. What cannot be done
// within the time-out is Error(ExitCode::device), for then a rank, or a host, is gone. A connection
// to a host that was cut off may hang for longer than any time-out: only a thread that nobody waits
// for uses it then.
class RankStore {
 public:
  // Serves the store where this rank has to, connects to it, and waits for all other ranks: the
  // keys of this start are not those of an earlier one.
  RankStore(const Ranks& ranks, std::chrono::milliseconds timeout);
  ~RankStore();

  // Another connection, with a time-out of its own. Of any thread.
  std::unique_ptr<RankStore> clone(std::chrono::milliseconds timeout) const;
  void set(const std::string& key, const std::string& value);
  // Waits for the key.
  std::string get(const std::string& key);
  // Absent: nobody has set it yet.
  std::optional<std::string> find(const std::string& key);
  void remove(const std::string& key);
  // The same, for a process group.
  c10d::Store& c10d() const;

 private:
  struct Client;
  explicit RankStore(std::unique_ptr<Client> client);
  std::unique_ptr<Client> client_;
};

// Serves a store on a free port of this machine, for ranks that are told where it is. Lives as long
// as the object. Error(ExitCode::environment) where no port can be had.
class StoreServer {
 public:
  StoreServer();
  ~StoreServer();
  uint16_t port() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace stoker
