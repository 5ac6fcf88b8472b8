#include "io/core/ranks/store_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/errors.h"

namespace stoker {
namespace {

using std::chrono::milliseconds;
using Texts = std::vector<std::string>;

// A store within this process: each object is a connection.
class MemoryStore final : public RankStore {
 public:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::string> values;
    std::atomic<bool> gone = false;
  };
  explicit MemoryStore(std::shared_ptr<State> state = std::make_shared<State>())
      : state_(std::move(state)) {}
  std::unique_ptr<RankStore> clone(milliseconds) const override {
    return std::make_unique<MemoryStore>(state_);
  }
  void set(const std::string& key, const std::string& value) override {
    const auto lock = locked();
    state_->values[key] = value;
  }
  std::optional<std::string> find(const std::string& key) override {
    const auto lock = locked();
    const auto found = state_->values.find(key);
    return found == state_->values.end() ? std::nullopt : std::optional(found->second);
  }
  void remove(const std::string& key) override {
    const auto lock = locked();
    state_->values.erase(key);
  }
  // As if its host had been switched off.
  void lose() { state_->gone = true; }
  size_t size() const { return state_->values.size(); }

 private:
  std::unique_lock<std::mutex> locked() const {
    if (state_->gone) throw Error(ExitCode::device, "no such host");
    return std::unique_lock(state_->mutex);
  }
  const std::shared_ptr<State> state_;
};

Ranks rank_of(int64_t rank, int64_t world) {
  Ranks ranks;
  ranks.rank = rank;
  ranks.world = world;
  ranks.host = "node1";
  ranks.port = 29500;
  ranks.store_is_served = true;
  return ranks;
}

Texts meet(RankGroup& group, const std::string& channel, const std::string& own) {
  return group.meet(channel, own);
}

// What each of these ranks gives, each a thread with a group on the same store.
Texts in_groups(int64_t world, const MemoryStore& store,
                const std::function<std::string(StoreGroup&)>& f) {
  Texts results(static_cast<size_t>(world));
  std::vector<std::jthread> threads;
  for (int64_t rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      StoreGroup group(rank_of(rank, world), store, milliseconds(5'000));
      std::string& result = results[static_cast<size_t>(rank)];
      try {
        result = f(group);
      } catch (const RankLost& error) {
        result = std::string("lost: ") + error.what();
      }
    });
  }
  threads.clear();
  return results;
}

TEST(StoreGroup, all_hear_what_each_has_said_on_a_channel) {
  MemoryStore store;
  const Texts seen = in_groups(3, store, [](StoreGroup& group) {
    std::string all;
    for (int round = 0; round < 4; ++round) {
      const std::string own = std::to_string(10 * group.rank() + round);
      for (const std::string& text : meet(group, round % 2 == 0 ? "even" : "odd", own)) {
        all += text + " ";
      }
    }
    return all;
  });
  EXPECT_EQ(seen, Texts(3, "0 10 20 1 11 21 2 12 22 3 13 23 "));
}

TEST(StoreGroup, what_was_said_before_the_last_meeting_does_not_stay_in_the_store) {
  MemoryStore store;
  in_groups(2, store, [](StoreGroup& group) { return meet(group, "a", "").front(); });
  const size_t once = store.size();
  in_groups(2, store, [](StoreGroup& group) {
    for (int round = 0; round < 20; ++round) meet(group, "b", "");
    return std::string();
  });
  EXPECT_LE(store.size(), once + 2 * 2);
}

TEST(StoreGroup, bytes_of_one_rank_reach_all_and_rank_0_shares_its_text) {
  MemoryStore store;
  const Texts seen = in_groups(3, store, [](StoreGroup& group) {
    std::vector<uint8_t> bytes(5, static_cast<uint8_t>('a' + group.rank()));
    group.broadcast(bytes, 2);
    return std::string(bytes.begin(), bytes.end()) + share(group, std::to_string(group.rank()));
  });
  EXPECT_EQ(seen, Texts(3, "ccccc0"));
}

TEST(StoreGroup, a_broadcast_of_another_size_is_an_error) {
  MemoryStore store;
  const Texts seen = in_groups(2, store, [](StoreGroup& group) {
    std::vector<uint8_t> bytes(static_cast<size_t>(4 + group.rank()));
    group.broadcast(bytes, 0);
    return std::string("copied");
  });
  EXPECT_EQ(seen, (Texts{"copied", "lost: rank 0 sends another number of bytes"}));
}

TEST(StoreGroup, a_rank_that_left_with_an_error_ends_those_who_wait_for_it) {
  MemoryStore store;
  const Texts seen = in_groups(2, store, [](StoreGroup& group) {
    if (group.rank() == 1) {
      group.leave("the disk is full");
      return std::string("left");
    }
    return meet(group, "a", "").front();
  });
  EXPECT_TRUE(seen[0].starts_with("lost: rank 0 of 2: rank 1 (pid ")) << seen[0];
  EXPECT_TRUE(seen[0].ends_with("has ended: the disk is full")) << seen[0];
}

TEST(StoreGroup, waiting_ends_when_it_is_given_up) {
  MemoryStore store;
  const Texts seen = in_groups(2, store, [](StoreGroup& group) {
    if (group.rank() == 1) return std::string("does not come");
    return group.meet("a", "", [] { return false; }).front();
  });
  EXPECT_EQ(seen[0], "lost: no longer waiting for the other ranks");
}

// On another machine, so that nobody sees whether it lives.
void join_once(MemoryStore& store, int64_t rank) {
  store.set("who/" + std::to_string(rank), "pid 17 on node3");
  store.set("beat/" + std::to_string(rank), "1");
}

TEST(StoreGroup, a_silent_rank_is_waited_for_as_long_as_a_collective_waits) {
  MemoryStore store;
  const StoreGroup patient(rank_of(0, 3), store, std::chrono::minutes(10));
  const StoreGroup impatient(rank_of(1, 3), store, milliseconds(500));
  join_once(store, 2);
  while (impatient.gone().empty()) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(impatient.gone(), "rank 2 (pid 17 on node3) is gone");
  std::this_thread::sleep_for(milliseconds(3'500));
  EXPECT_EQ(patient.gone(), "");
}

TEST(StoreGroup, a_store_that_is_gone_is_named) {
  MemoryStore store;
  StoreGroup group(rank_of(0, 2), store, milliseconds(5'000));
  EXPECT_EQ(group.gone(), "");
  store.lose();
  EXPECT_EQ(error_of([&] { meet(group, "a", ""); }),
            "rank 0 of 2: the ranks' store at node1:29500 is gone, and with it the process that "
            "served it");
}

TEST(RankGroup, of_one_process_answers_itself) {
  EXPECT_EQ(alone().meet("a", "x"), Texts{"x"});
  EXPECT_EQ(alone().gone(), "");
  std::vector<uint8_t> bytes{1, 2};
  alone().broadcast(bytes, 0);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(share(alone(), "y"), "y");
}

}  // namespace
}  // namespace stoker
