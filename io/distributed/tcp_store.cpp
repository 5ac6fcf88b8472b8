#include "io/distributed/tcp_store.h"

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <map>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "io/core/digest.h"
#include "io/core/error.h"
#include "io/core/system/file.h"
#include "io/distributed/c10d.h"
#include "io/metrics/clock.h"

namespace stoker {
namespace {

constexpr std::chrono::milliseconds kPoll(5);

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

std::string hello_key(int64_t rank) { return fmt::format("hello/{}", rank); }
std::string start_key(const std::string& word) { return "start/" + word; }
std::string here_key(const std::string& start, int64_t rank) {
  return fmt::format("{}/here/{}", start, rank);
}

// Rank 0's part: tells `start` to whoever says hello, until all have heard it.
void tell_start(c10d::Store& store, const Ranks& ranks, const std::string& start,
                std::chrono::milliseconds timeout) {
  std::map<int64_t, std::string> missing;  // with the word that was answered last
  for (int64_t rank = 1; rank < ranks.world; ++rank) missing[rank] = "";
  for (const TimePoint begin = Clock::now(); !missing.empty();) {
    std::erase_if(missing,
                  [&](const auto& each) { return store.check({here_key(start, each.first)}); });
    for (auto& [rank, answered] : missing) {
      const std::string word =
          store.check({hello_key(rank)}) ? store.get_to_str(hello_key(rank)) : "";
      if (word == answered) continue;
      store.set(start_key(word), start);
      answered = word;
    }
    if (missing.empty()) return;
    if (Clock::now() - begin > timeout) {
      throw std::runtime_error(fmt::format("within {:g} s there came no rank {}",
                                           std::chrono::duration<double>(timeout).count(),
                                           fmt::join(std::views::keys(missing), ", ")));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

// The name of this start of the job, by which all its ranks call their keys: a store that outlives
// a restart has those of earlier ones. torchrun's count of restarts is no such name: after a node
// has joined, it is another one on each node.
std::string agreed_start(c10d::Store& store, const Ranks& ranks,
                         std::chrono::milliseconds timeout) {
  const std::string word = unique_name("");
  if (ranks.first()) {
    tell_start(store, ranks, word, timeout);
    return word;
  }
  store.set(hello_key(ranks.rank), word);
  const std::string start = store.get_to_str(start_key(word));
  store.set(here_key(start, ranks.rank), "");
  return start;
}

}  // namespace

struct TcpStore::Client {
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

TcpStore::TcpStore(const Ranks& ranks, std::chrono::milliseconds timeout)
    : client_(std::make_unique<Client>()) {
  client_->where = fmt::format("{}:{}", ranks.host, ranks.port);
  c10d::TCPStoreOptions options;
  options.port = ranks.port;
  options.isServer = ranks.first() && !ranks.store_is_served;
  options.numWorkers = static_cast<size_t>(ranks.world);
  options.waitWorkers = false;
  options.timeout = timeout;
  const char* failed =
      options.isServer ? "cannot serve the ranks' store at" : "found no store of the ranks at";
  try {
    const auto all = c10::make_intrusive<c10d::PrefixStore>(
        "stoker", c10::make_intrusive<c10d::TCPStore>(ranks.host, options));
    failed = "did not meet the others in the ranks' store at";
    client_->store =
        c10::make_intrusive<c10d::PrefixStore>(agreed_start(*all, ranks, timeout), all);
  } catch (const std::exception& error) {
    throw Error(ExitCode::device, fmt::format("{}: {} {}: {}", ranks.text(), failed, client_->where,
                                              first_line(error)));
  }
}

TcpStore::TcpStore(std::unique_ptr<Client> client) : client_(std::move(client)) {}

TcpStore::~TcpStore() = default;

std::unique_ptr<RankStore> TcpStore::clone(std::chrono::milliseconds timeout) const {
  auto client = std::make_unique<Client>(*client_);
  client->store = client_->run("a further connection", [](c10d::Store& s) { return s.clone(); });
  client->store->setTimeout(timeout);
  return std::unique_ptr<RankStore>(new TcpStore(std::move(client)));
}

void TcpStore::set(const std::string& key, const std::string& value) {
  client_->run("set " + key, [&](c10d::Store& s) { s.set(key, value); });
}

std::optional<std::string> TcpStore::find(const std::string& key) {
  return client_->run("find " + key, [&](c10d::Store& s) {
    return s.check({key}) ? std::optional(s.get_to_str(key)) : std::nullopt;
  });
}

void TcpStore::remove(const std::string& key) {
  client_->run("remove " + key, [&](c10d::Store& s) { s.deleteKey(key); });
}

c10d::Store& TcpStore::c10d() const { return *client_->store; }

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
