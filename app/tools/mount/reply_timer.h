#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "app/tools/mount/reply_schedule.h"

namespace stoker {

// A ReplySchedule with a thread that hands out what is due. Any thread.
class ReplyTimer {
 public:
  // `due` is called on the timer's thread, one request after the other; what it throws ends the
  // process. The thread is woken as precisely as the kernel can.
  explicit ReplyTimer(std::function<void(const ReplySchedule::Due&)> due);
  // Drops what is not due yet.
  ~ReplyTimer();
  ReplyTimer(const ReplyTimer&) = delete;
  ReplyTimer& operator=(const ReplyTimer&) = delete;

  // These do what those of the schedule do.
  void set_cost(const OwnCost& cost);
  void arrive(MountRequest* request, pid_t reader, TierModel& model,
              const TierOperation& operation);
  void answering(const ReplySchedule::Due& due, Clock::duration overrun);
  void answered(const ReplySchedule::Due& due, TimePoint sent);

 private:
  void serve();

  const std::function<void(const ReplySchedule::Due&)> due_;
  std::mutex mutex_;
  std::condition_variable changed_;
  ReplySchedule schedule_;
  bool stop_ = false;
  std::jthread thread_;
};

}  // namespace stoker
