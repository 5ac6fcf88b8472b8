#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/core/ranks/ranks.h"
#include "io/core/ranks/store_group.h"

namespace c10d {
class Store;
}  // namespace c10d

namespace stoker {

// The ranks' store as c10d's TCPStore: one rank, or the launcher, serves it, and all others are
// clients.
class TcpStore final : public RankStore {
 public:
  // Serves the store where this rank has to, connects to it, and waits for all other ranks: the
  // keys of this start are not those of an earlier one.
  TcpStore(const Ranks& ranks, std::chrono::milliseconds timeout);
  ~TcpStore() override;

  std::unique_ptr<RankStore> clone(std::chrono::milliseconds timeout) const override;
  void set(const std::string& key, const std::string& value) override;
  std::optional<std::string> find(const std::string& key) override;
  void remove(const std::string& key) override;
  // The store itself, for a process group.
  c10d::Store& c10d() const;

 private:
  struct Client;
  explicit TcpStore(std::unique_ptr<Client> client);
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
