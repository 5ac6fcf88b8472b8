#include "io/distributed/tcp_store.h"

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>
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

// How ranks find each other in a store that may have keys of earlier starts, and visitors:
//
//  1. Each rank but the first draws a word, takes a number, and leaves under it a letter: its word,
//     its rank, the world's size and the job.
//  2. Rank 0 answers each letter once, under its word: with the name of this start, or why it does
//     not belong here. Letters of processes that are gone cost nothing.
//  3. Who gets the name says under it that it is here. The first one of a rank is that rank.
//  4. When all are here, rank 0 reads no more letters. A store of its own says so to whoever comes
//     later; one that outlives a start could not take it back.
constexpr const char* kLetters = "letters";
constexpr const char* kUnderWay = "under way";
constexpr std::chrono::milliseconds kLook(1'000);
constexpr char kStart = '+', kRefused = '-';

std::string letter_key(int64_t number) { return fmt::format("letter/{}", number); }
std::string answer_key(const std::string& word) { return "answer/" + word; }
std::string here_key(const std::string& start, int64_t rank) {
  return fmt::format("{}/here/{}", start, rank);
}

struct Letter {
  std::string word;
  int64_t rank = 0;
  int64_t world = 0;
  std::string job;

  std::string text() const { return fmt::format("{} {} {} {}", word, rank, world, job); }
  explicit Letter(const std::string& text) {
    std::istringstream in(text);
    in >> word >> rank >> world >> std::ws;
    std::getline(in, job);
  }
  Letter(std::string word, const Ranks& ranks)
      : word(std::move(word)), rank(ranks.rank), world(ranks.world), job(ranks.job) {}
};

// Rank 0's part: answers letters until all ranks are here.
class Host {
 public:
  Host(c10d::Store& store, const Ranks& ranks) : store_(store), ranks_(ranks) {
    for (int64_t rank = 1; rank < ranks.world; ++rank) missing_.insert(rank);
  }
  std::string wait(std::chrono::milliseconds timeout) {
    for (const TimePoint begin = Clock::now(); !missing_.empty();) {
      std::erase_if(missing_,
                    [this](int64_t rank) { return store_.check({here_key(start_, rank)}); });
      answer_letters();
      if (missing_.empty()) break;
      if (Clock::now() - begin > timeout) {
        throw std::runtime_error(fmt::format("within {:g} s there came no rank {}{}",
                                             std::chrono::duration<double>(timeout).count(),
                                             fmt::join(missing_, ", "), refused_));
      }
      std::this_thread::sleep_for(kPoll);
    }
    if (!ranks_.store_is_served) store_.set(kUnderWay, std::string());
    return start_;
  }

 private:
  void answer_letters() {
    // Whoever took a number may have died before it left its letter.
    const int64_t numbers = store_.add(kLetters, 0);
    for (; known_ < numbers; ++known_) expected_.insert(known_ + 1);
    std::erase_if(expected_, [this](int64_t number) {
      if (!store_.check({letter_key(number)})) return false;
      const Letter letter(store_.get_to_str(letter_key(number)));
      const std::string refusal = refuses(letter);
      if (!refusal.empty()) refused_ = "; one that came was refused: " + refusal;
      store_.set(answer_key(letter.word), refusal.empty() ? kStart + start_ : kRefused + refusal);
      return true;
    });
  }
  // Why whoever wrote it is no rank of this job.
  std::string refuses(const Letter& letter) const {
    if (letter.job != ranks_.job) {
      return fmt::format("it is of job '{}', and rank 0 of job '{}'", letter.job, ranks_.job);
    }
    if (letter.world == ranks_.world) return "";
    return fmt::format("it is rank {} of {}, and rank 0 is one of {}", letter.rank, letter.world,
                       ranks_.world);
  }

  c10d::Store& store_;
  const Ranks& ranks_;
  const std::string start_ = unique_name("");
  std::set<int64_t> missing_;
  int64_t known_ = 0;           // numbers of letters
  std::set<int64_t> expected_;  // those that were not answered
  std::string refused_;
};

// Rank 0's answer to this letter, waited for as long as c10d waits for a key.
std::string answer_to(const Letter& letter, c10d::Store& store, std::chrono::milliseconds timeout) {
  const std::string key = answer_key(letter.word);
  for (std::chrono::milliseconds left = timeout;; left -= kLook) {
    try {
      store.wait({key}, std::min(left, kLook));
      return store.get_to_str(key);
    } catch (const std::exception&) {
      if (store.check({kUnderWay}) && !store.check({key})) {
        throw Error(ExitCode::environment, "the job there is under way with all its ranks");
      }
      if (left <= kLook) throw;
    }
  }
}

// The name of this start of the job, by which all its ranks call their keys: a store that outlives
// a restart has those of earlier ones. torchrun's count of restarts is no such name: after a node
// has joined, it is another one on each node. Error: this process is none of these ranks.
std::string agreed_start(c10d::Store& store, const Ranks& ranks,
                         std::chrono::milliseconds timeout) {
  if (ranks.first()) return Host(store, ranks).wait(timeout);
  const Letter own(unique_name(""), ranks);
  store.set(letter_key(store.add(kLetters, 1)), own.text());
  const std::string answer = answer_to(own, store, timeout);
  const std::string start = answer.substr(1);
  if (answer.front() == kRefused) throw Error(ExitCode::environment, start);
  // It may be started anew: that is worth another try.
  if (store.add(here_key(start, ranks.rank), 1) > 1) {
    throw Error(ExitCode::device, fmt::format("another process is rank {} there", ranks.rank));
  }
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
  const char* const advice =
      ": give each job a MASTER_PORT of its own, and all its ranks one launcher";
  try {
    const auto all = c10::make_intrusive<c10d::PrefixStore>(
        "stoker", c10::make_intrusive<c10d::TCPStore>(ranks.host, options));
    failed = "did not meet the others in the ranks' store at";
    client_->store =
        c10::make_intrusive<c10d::PrefixStore>(agreed_start(*all, ranks, timeout), all);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}: is none of the ranks that meet in the store at {}: {}{}",
                            ranks.text(), client_->where, error.what(), advice));
  } catch (const std::exception& error) {
    throw Error(ExitCode::device, fmt::format("{}: {} {}: {}{}", ranks.text(), failed,
                                              client_->where, first_line(error), advice));
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
