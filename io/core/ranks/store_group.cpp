#include "io/core/ranks/store_group.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "io/core/error.h"
#include "io/core/system/neighbours.h"
#include "io/core/threads.h"

namespace stoker {

StoreGroup::StoreGroup(const Ranks& ranks, const RankStore& store,
                       std::chrono::milliseconds timeout)
    : RankGroup(ranks.rank, ranks.world),
      ranks_(ranks),
      store_(store),
      timeout_(timeout),
      heartbeat_(ranks, store, timeout) {}

std::vector<std::string> StoreGroup::meet(const std::string& name, const std::string& own,
                                          const std::function<bool()>& go_on) {
  try {
    return channel(name).meet(own, [&] {
      throw_if_interrupted();
      if (!go_on()) throw RankLost("no longer waiting for the other ranks");
      const std::string missing = heartbeat_.surely_missing();
      if (!missing.empty()) throw lost(missing);
    });
  } catch (const RankLost&) {
    throw;
  } catch (const Error& error) {
    fail(error.what());
  }
}

std::string StoreGroup::gone() const { return heartbeat_.surely_missing(); }

void StoreGroup::leave(const std::string& why) { heartbeat_.leave(why); }

void StoreGroup::fail(const std::string& what) {
  const std::string missing = heartbeat_.missing();
  throw lost(missing.empty() ? what : missing);
}

RankLost StoreGroup::lost(const std::string& why) const {
  return RankLost(fmt::format("rank {} of {}: {}", rank(), size(), why));
}

Channel& StoreGroup::channel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return channels_.try_emplace(name, ranks_, store_, name, timeout_).first->second;
}

namespace {

using std::chrono::microseconds;

constexpr microseconds kFirstPoll(200), kLongestPoll(20'000);
constexpr std::chrono::seconds kLastLook(1);

}  // namespace

// Outlives the call where its thread hangs in the store.
struct Channel::Meeting {
  std::shared_ptr<RankStore> store;
  std::string key;  // and the number of a rank
  Ranks ranks;
  std::string own;
  std::string before;  // to be removed

  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  bool abandoned = false;
  int64_t looks = 0;  // in vain
  std::vector<std::string> said;
  std::exception_ptr error;

  std::string key_of(int64_t rank) const { return key + std::to_string(rank); }
  void run() {
    pthread_setname_np(pthread_self(), "meeting");
    try {
      store->set(key_of(ranks.rank), own);
      for (int64_t rank = 0; rank < ranks.world; ++rank) {
        if (!hear(rank)) return;
      }
      // All have said something here, so all have heard what was said before.
      if (!before.empty()) store->remove(before);
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }
  // False: nobody waits any longer.
  bool hear(int64_t rank) {
    for (microseconds pause = kFirstPoll;; pause = std::min(2 * pause, kLongestPoll)) {
      if (auto found = store->find(key_of(rank))) {
        said.push_back(std::move(*found));
        return true;
      }
      std::unique_lock lock(mutex);
      ++looks;
      changed.notify_all();
      if (changed.wait_for(lock, pause, [this] { return abandoned; })) return false;
    }
  }
  // Until the thread has ended; where while_waiting throws, it is left to itself.
  void wait(const std::function<void()>& while_waiting) {
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kLongestPoll, [this] { return ended; })) {
      lock.unlock();
      try {
        while_waiting();
        lock.lock();
      } catch (...) {
        lock.lock();
        // Who is gone may have said it last of all: one whole look more.
        const int64_t enough = looks + 2;
        changed.wait_for(lock, kLastLook, [&] { return ended || looks >= enough; });
        abandoned = !ended;
        changed.notify_all();
        if (abandoned) throw;
      }
    }
    if (error) std::rethrow_exception(error);
  }
};

Channel::Channel(const Ranks& ranks, const RankStore& store, std::string name,
                 std::chrono::milliseconds timeout)
    : ranks_(ranks), to_(store), name_(std::move(name)), timeout_(timeout) {}

std::vector<std::string> Channel::meet(const std::string& own,
                                       const std::function<void()>& while_waiting) {
  if (!store_) store_ = to_.clone(timeout_);
  const auto meeting = std::make_shared<Meeting>();
  meeting->store = std::exchange(store_, nullptr);
  meeting->key = fmt::format("meet/{}/{}/", name_, meetings_);
  meeting->ranks = ranks_;
  meeting->own = own;
  meeting->before = before_;
  std::thread([meeting] { meeting->run(); }).detach();
  meeting->wait(while_waiting);
  store_ = meeting->store;
  before_ = meeting->key_of(ranks_.rank);
  ++meetings_;
  return std::move(meeting->said);
}

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A beat is one message to the store's host, and a look is one for each rank: seldom enough for a
// thousand ranks, and often enough to see a killed one within half a second.
milliseconds interval(int64_t world) { return milliseconds(std::max<int64_t>(100, world)); }
constexpr int kSilentBeats = 3;

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace

// Outlives the object where its thread hangs in the store.
struct Heartbeat::Shared {
  Ranks ranks;
  milliseconds every, timeout;
  std::mutex mutex;
  std::condition_variable changed;
  bool ending = false;
  bool ended = false;
  std::optional<std::string> farewell;                    // to be told
  steady_clock::time_point looked = steady_clock::now();  // last
  struct Other {
    std::string who;   // "rank 2 (pid 17 on node3)"
    std::string beat;  // the last one
    steady_clock::time_point since = steady_clock::now();
    std::optional<std::string> left;
    bool died = false;                   // as one that could see it says
    std::unique_ptr<Neighbour> process;  // of the heartbeat's thread alone
  };
  std::vector<Other> others;

  static bool silent(const Other& other, milliseconds limit, steady_clock::time_point now) {
    return other.died || (!other.beat.empty() && now - other.since > limit);
  }

  static std::string key(const char* what, int64_t rank) {
    return fmt::format("{}/{}", what, rank);
  }
  std::string store_text() const {
    return fmt::format("the ranks' store at {}:{}", ranks.host, ranks.port);
  }
  // Who is missing by then: who was silent for longer than this, or left with a word. Under the
  // mutex.
  std::string text(milliseconds limit, steady_clock::time_point now) const {
    if (ended) return store_text() + " is gone, and with it the process that served it";
    std::string gone, ended_ones;
    for (size_t rank = 0; rank < others.size(); ++rank) {
      const Other& other = others[rank];
      if (static_cast<int64_t>(rank) == ranks.rank) continue;
      const std::string who = fmt::format("rank {} ({})", rank, other.who);
      if (!other.left && silent(other, limit, now)) {
        gone += (gone.empty() ? "" : "; ") + who + " is gone";
      } else if (other.left) {
        ended_ones += (ended_ones.empty() ? "" : "; ") + who + " has ended";
        if (!other.left->empty()) ended_ones += ": " + *other.left;
      }
    }
    // Who ended because another one was gone is not to blame.
    return gone.empty() ? ended_ones : gone;
  }
  void run(RankStore& store) {
    for (int64_t beat = 1;; ++beat) {
      std::optional<std::string> word;
      {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, every, [this] { return ending || farewell; });
        word = std::exchange(farewell, std::nullopt);
        if (ending && !word) break;
      }
      if (word) store.set(key("left", ranks.rank), *word);
      store.set(key("beat", ranks.rank), std::to_string(beat));
      look(store);
    }
  }
  // Whether a rank has died, as this one or another one on its machine sees. Whoever left said so
  // before it ended.
  bool died(RankStore& store, int64_t rank, const Other& other) {
    if (other.process == nullptr || !other.process->ended()) {
      return steady_clock::now() - other.since > 2 * every && store.find(key("died", rank));
    }
    if (!other.died) store.set(key("died", rank), "");
    return true;
  }
  void look(RankStore& store) {
    for (int64_t rank = 0; rank < ranks.world; ++rank) {
      const bool dead = died(store, rank, others[static_cast<size_t>(rank)]);
      const std::string beat = store.find(key("beat", rank)).value_or("");
      const std::optional<std::string> left = store.find(key("left", rank));
      std::string who;
      if (!beat.empty() && others[static_cast<size_t>(rank)].who.empty()) {
        who = store.find(key("who", rank)).value_or("");
        others[static_cast<size_t>(rank)].process =
            std::make_unique<Neighbour>(store.find(key("place", rank)).value_or(""));
      }
      const std::lock_guard lock(mutex);
      Other& other = others[static_cast<size_t>(rank)];
      if (beat != other.beat) other.since = steady_clock::now();
      other.beat = beat;
      other.left = left;
      other.died = dead;
      if (!who.empty()) other.who = who;
    }
    const std::lock_guard lock(mutex);
    looked = steady_clock::now();
    changed.notify_all();
  }
};

Heartbeat::Heartbeat(const Ranks& ranks, const RankStore& store, milliseconds timeout)
    : shared_(std::make_shared<Shared>()) {
  shared_->ranks = ranks;
  shared_->every = interval(ranks.world);
  shared_->timeout = timeout;
  shared_->others.resize(static_cast<size_t>(ranks.world));
  std::shared_ptr<RankStore> own = store.clone(timeout);
  // Before anything else, so that even who goes at once is known.
  own->set(Shared::key("place", ranks.rank), place_of(getpid()));
  own->set(Shared::key("who", ranks.rank), fmt::format("pid {} on {}", getpid(), host_name()));
  own->set(Shared::key("beat", ranks.rank), "0");
  // Not joined: it may hang in a store whose host is gone.
  std::thread([shared = shared_, own] {
    pthread_setname_np(pthread_self(), "heartbeat");
    try {
      shared->run(*own);
    } catch (const Error&) {
      // The store is gone, and with it whoever served it: missing() says so.
    }
    const std::lock_guard lock(shared->mutex);
    shared->ended = true;
    shared->changed.notify_all();
  }).detach();
}

Heartbeat::~Heartbeat() {
  std::unique_lock lock(shared_->mutex);
  shared_->ending = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, 2 * shared_->every, [this] { return shared_->ended; });
}

void Heartbeat::leave(const std::string& why) {
  std::unique_lock lock(shared_->mutex);
  shared_->farewell = why;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, 2 * shared_->every,
                            [this] { return !shared_->farewell || shared_->ended; });
  lock.unlock();
  // With this process goes the store that the others read it from.
  const bool serves = shared_->ranks.first() && !shared_->ranks.store_is_served;
  if (serves && !why.empty()) std::this_thread::sleep_for(kSilentBeats * shared_->every);
}

std::string Heartbeat::missing() {
  std::unique_lock lock(shared_->mutex);
  const steady_clock::time_point asked = steady_clock::now();
  // A beat from before the failure may be seen as late as this.
  const steady_clock::time_point heard = asked + 2 * shared_->every;
  // Until each has either been heard of since, or been silent for long enough.
  const auto certain = [&] {
    return shared_->ended || std::ranges::all_of(shared_->others, [&](const Shared::Other& other) {
             return other.left || other.since > heard ||
                    Shared::silent(other, kSilentBeats * shared_->every, steady_clock::now());
           });
  };
  while (!certain() && steady_clock::now() - asked < 3 * kSilentBeats * shared_->every) {
    shared_->changed.wait_for(lock, shared_->every);
  }
  return shared_->text(kSilentBeats * shared_->every, steady_clock::now());
}

std::string Heartbeat::surely_missing() {
  const std::lock_guard lock(shared_->mutex);
  // What was not looked at says nothing of the others.
  const bool answers = shared_->ended || steady_clock::now() - shared_->looked <= shared_->timeout;
  if (!answers) return shared_->store_text() + " does not answer";
  return shared_->text(shared_->timeout, shared_->looked);
}

}  // namespace stoker
