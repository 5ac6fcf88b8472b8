#include "io/distributed/store.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "io/core/error.h"
#include "io/core/file.h"
#include "io/distributed/c10d.h"

namespace stoker {
namespace {

// c10d's own socket would listen on every interface, and whoever reaches a store may write to it.
FileDescriptor loopback_socket(uint16_t& port) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), any, size) != 0 || ::getsockname(socket.get(), any, &size) != 0) {
    throw_errno("serve the ranks' store at", "127.0.0.1", errno);
  }
  port = ntohs(address.sin_port);
  return socket;
}

}  // namespace

struct RankStore::Client {
  c10::intrusive_ptr<c10d::Store> store;
  std::string where;

  template <class F>
  auto run(const std::string& what, F&& f) {
    try {
      return f(*store);
    } catch (const std::exception& error) {
      throw Error(ExitCode::device,
                  fmt::format("{} in the ranks' store at {}: {}", what, where, first_line(error)));
    }
  }
};

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

RankStore::RankStore(const Ranks& ranks, std::chrono::milliseconds timeout)
    : client_(std::make_unique<Client>()) {
  client_->where = fmt::format("{}:{}", ranks.host, ranks.port);
  c10d::TCPStoreOptions options;
  options.port = ranks.port;
  options.isServer = ranks.first() && !ranks.store_is_served;
  options.numWorkers = static_cast<size_t>(ranks.world);
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    client_->store = c10::make_intrusive<c10d::PrefixStore>(
        "stoker/" + ranks.attempt, c10::make_intrusive<c10d::TCPStore>(ranks.host, options));
  } catch (const std::exception& error) {
    throw Error(ExitCode::device, fmt::format("{}: {} {}: {}", ranks.text(),
                                              options.isServer ? "cannot serve the ranks' store at"
                                                               : "found no store of the ranks at",
                                              client_->where, first_line(error)));
  }
}

RankStore::RankStore(std::unique_ptr<Client> client) : client_(std::move(client)) {}

RankStore::~RankStore() = default;

std::unique_ptr<RankStore> RankStore::clone(std::chrono::milliseconds timeout) const {
  auto client = std::make_unique<Client>(*client_);
  client->store = client_->run("a further connection", [](c10d::Store& s) { return s.clone(); });
  client->store->setTimeout(timeout);
  return std::unique_ptr<RankStore>(new RankStore(std::move(client)));
}

void RankStore::set(const std::string& key, const std::string& value) {
  client_->run("set " + key, [&](c10d::Store& s) { s.set(key, value); });
}

std::string RankStore::get(const std::string& key) {
  return client_->run("get " + key, [&](c10d::Store& s) { return s.get_to_str(key); });
}

std::optional<std::string> RankStore::find(const std::string& key) {
  return client_->run("find " + key, [&](c10d::Store& s) {
    return s.check({key}) ? std::optional(s.get_to_str(key)) : std::nullopt;
  });
}

void RankStore::remove(const std::string& key) {
  client_->run("remove " + key, [&](c10d::Store& s) { s.deleteKey(key); });
}

c10d::Store& RankStore::c10d() const { return *client_->store; }

struct StoreServer::Server {
  c10::intrusive_ptr<c10d::TCPStore> store;
};

StoreServer::StoreServer() : server_(std::make_unique<Server>()) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  options.waitWorkers = false;
  FileDescriptor socket = loopback_socket(options.port);
  options.masterListenFd = socket.get();
  try {
    server_->store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    socket.release();  // the store's now
  } catch (const std::exception& error) {
    throw Error(ExitCode::environment, "cannot serve the ranks' store: " + first_line(error));
  }
}

StoreServer::~StoreServer() = default;

uint16_t StoreServer::port() const { return server_->store->getPort(); }

}  // namespace stoker
