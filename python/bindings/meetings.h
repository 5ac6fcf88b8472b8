#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/core/ranks/rank_group.h"

namespace stoker::python {

// stoker._core.Meetings: the ranks of a training in Python, which meet at a store that Python
// knows. A thread of Python's asks the store, so that those of the core never wait for the GIL:
// they could not give that up where the interpreter ends. Any thread.
class Meetings final : public RankGroup {
 public:
  using RankGroup::RankGroup;
  std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                const std::function<bool()>& go_on) override;

  // For Python's thread: what was said since the last call, with its channel. Waits for something,
  // but no longer than this.
  std::vector<std::pair<std::string, std::string>> asked(std::chrono::milliseconds at_most);
  // What all ranks have said there.
  void answer(const std::string& channel, std::vector<std::string> said);
  // There is no store any more: RankLost for whoever meets, now and later.
  void fail(const std::string& why);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::string, std::string>> asked_;
  std::map<std::string, std::optional<std::vector<std::string>>> answers_;  // by channel
  std::string failure_;
};

}  // namespace stoker::python
