#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/metrics/clock.h"
#include "io/metrics/tracer.h"

namespace stoker {

// A session of the I/O profiler that has ended. Its references are valid during the call.
struct IoSessionReport {
  const std::string& name;  // of its log, without the ending: "io_profile-5"
  const std::string& json;  // as profile_json() has it
  int64_t step = 0;         // how many were done when it ended
  TimePoint begin;
  const std::vector<TraceRow>& rows;  // one for each file: file_lanes()
};

// Hands the sessions that have ended to the sinks that want them. Any thread.
class IoSessionFeed {
 public:
  // Called for one session after the other, on the thread that writes their logs. What it throws
  // ends the sessions, so a sink says itself what it cannot write (MetricsSink::Inputs::failed).
  using Consumer = std::function<void(const IoSessionReport&)>;

  // Until it is destroyed, which waits for a call under way, the consumer gets what ends. It must
  // not outlive the feed.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class IoSessionFeed;
    Subscription(IoSessionFeed& feed, Consumer consumer)
        : feed_(feed), consumer_(std::move(consumer)) {}
    IoSessionFeed& feed_;
    const Consumer consumer_;
  };
  std::unique_ptr<Subscription> subscribe(Consumer consumer);

  void ended(const IoSessionReport& report);
  // The newest session's json. Empty: no session has ended yet.
  std::string newest() const;

 private:
  std::mutex calls_;  // held while consumers are called; before mutex_
  std::vector<const Subscription*> subscriptions_;
  mutable std::mutex mutex_;
  std::string newest_;
};

}  // namespace stoker
