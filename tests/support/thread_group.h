#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/ranks/rank_group.h"

namespace stoker {

// The processes of a group as threads of this one: what ranks are to each other, without a network.
class ThreadGroup {
 public:
  explicit ThreadGroup(int64_t size) : state_(std::make_shared<State>()) {
    state_->size = static_cast<size_t>(size);
    for (int64_t rank = 0; rank < size; ++rank) {
      members_.push_back(std::make_unique<Member>(rank, size, state_));
    }
  }
  RankGroup& member(size_t rank) { return *members_[rank]; }
  // As if its process had died: from now on the others wait in vain. Any thread.
  void lose(size_t rank) {
    const std::lock_guard lock(state_->mutex);
    state_->lost = rank;
    state_->changed.notify_all();
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    size_t size = 0;
    std::optional<size_t> lost;
    // By channel and number of the meeting: what each has said.
    std::map<std::pair<std::string, int64_t>, std::map<size_t, std::string>> said;
  };

  class Member final : public RankGroup {
   public:
    Member(int64_t rank, int64_t size, std::shared_ptr<State> state)
        : RankGroup(rank, size), state_(std::move(state)) {}
    std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                  const std::function<bool()>& go_on) override {
      const auto me = static_cast<size_t>(rank());
      std::unique_lock lock(state_->mutex);
      auto& said = state_->said[{channel, meetings_[channel]++}];
      said[me] = own;
      state_->changed.notify_all();
      while (said.size() < state_->size) {
        if (state_->lost && !said.contains(*state_->lost)) throw RankLost("a rank is gone");
        if (!go_on()) throw RankLost("no longer waiting");
        state_->changed.wait_for(lock, std::chrono::milliseconds(1));
      }
      std::vector<std::string> all;
      for (const auto& [each, text] : said) all.push_back(text);
      return all;
    }

   private:
    const std::shared_ptr<State> state_;
    std::map<std::string, int64_t> meetings_;  // under the state's mutex
  };

  const std::shared_ptr<State> state_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace stoker
