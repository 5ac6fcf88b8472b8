#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/core/error.h"

namespace stoker {

// Trying again would be of no use, on no process of the group.
class NoRetry : public Error {
 public:
  using Error::Error;
};

// Another process of the group is gone, or waiting for it was given up. What all do together may
// have been done by the others, or not.
class GroupLost final : public NoRetry {
 public:
  explicit GroupLost(const std::string& what) : NoRetry(ExitCode::device, what) {}
};

// Another process of the group failed at what all do together; this one did not.
class OtherFailed final : public Error {
 public:
  OtherFailed(const std::string& what, bool again)
      : Error(ExitCode::storage, what), again_(again) {}
  // All may try again.
  bool again() const { return again_; }

 private:
  bool again_;
};

// The processes that write each set together, every one its own files of it. One process alone is a
// group, too. All make the same calls in the same order, for each channel by itself.
class SetGroup {
 public:
  SetGroup(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  virtual ~SetGroup() = default;
  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }

  // Says `own` on a channel, waits until all have said something there, and returns it in the order
  // of the ranks. Any thread, but a channel belongs to one. Waits as long as the others live and
  // go_on() says true. GroupLost where that ends.
  virtual std::vector<std::string> meet(const std::string& channel, const std::string& own,
                                        const std::function<bool()>& go_on) = 0;
  // Another process is gone, as far as it is known; nothing that all do together will end well. Any
  // thread; quick.
  virtual bool lost() { return false; }
  // The bytes of process `from`, to all others. The trainer's thread. GroupLost.
  virtual void broadcast(std::span<uint8_t> bytes, int64_t from) = 0;

 private:
  const int64_t rank_;
  const int64_t size_;
};

// A process by itself.
SetGroup& alone();

// One channel of a group, and the thread that it belongs to. The group must outlive it.
class Together {
 public:
  // go_on: false ends the waiting for others.
  Together(SetGroup& group, std::string channel, std::function<bool()> go_on);

  bool first() const { return group_.rank() == 0; }
  SetGroup& group() const { return group_; }
  // Every process does `work`, and gets what each returned, in the order of the ranks. Where one
  // throws, all do: it its own exception, the others OtherFailed. `what` has to be the same on all.
  std::vector<std::string> all(const std::string& what, const std::function<std::string()>& work);
  // The same where only the first has something to do; what it returned.
  std::string first_only(const std::string& what, const std::function<std::string()>& work);

 private:
  SetGroup& group_;
  const std::string channel_;
  const std::function<bool()> go_on_;
};

}  // namespace stoker
