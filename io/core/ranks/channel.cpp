#include "io/core/ranks/channel.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace stoker {
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

}  // namespace stoker
