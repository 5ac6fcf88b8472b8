#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/core/config/config.h"
#include "io/core/system/memory.h"
#include "io/metrics/clock.h"
#include "io/metrics/tier_meter.h"
#include "io/storage/storage.h"
#include "io/storage/tail/read_times.h"

namespace stoker {

// How many more reads a tier may be sent: a bucket into which every read puts 3 % of one, and which
// holds 32. It begins empty, so that there are never more than 3 %. What is not urgent leaves half
// of it to what is. earn(): any thread; take(): one thread at a time.
class HedgeBudget {
 public:
  void earn() {
    if (left_.load(std::memory_order_relaxed) < kMost) {
      left_.fetch_add(kShare, std::memory_order_relaxed);
    }
  }
  // False: it has to wait.
  bool take(bool urgent) {
    if (left_.load(std::memory_order_relaxed) < (urgent ? kOne : kOne + kMost / 2)) return false;
    left_.fetch_sub(kOne, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr int64_t kOne = 100;  // a read, in hundredths
  static constexpr int64_t kShare = 3;
  static constexpr int64_t kMost = 32 * kOne;
  std::atomic<int64_t> left_{0};
};

// When a read is late, so that a second one is sent. A value.
struct HedgeAfter {
  double quantile = 0;     // of the tier's recent reads: 0.95; 0: `time` says it
  Clock::duration time{};  // since the read began
};

// How a configuration writes it.
template <>
struct Scalar<HedgeAfter> {
  static bool parse(const std::string& text, HedgeAfter& out);
  static std::string format(const HedgeAfter& value);
  static constexpr const char* expected =
      "a percentile from p50 to p99.9, or a time such as 20ms, up to 60s";
};

// What tiers have in common whose reads may now and then take many times as long as usual. A value.
struct TailOptions {
  std::optional<HedgeAfter> hedge;
  template <class V>
  void visit(V& v) {
    v("hedge", hedge,
      same_results("When a read is sent a second time, whose answer is taken if it comes first: "
                   "after this percentile of recent reads of its size (p95), or this time (20ms). "
                   "At most 3 % more reads are sent. Absent: never."));
  }
};

// Reads of a tier of which the late ones are sent a second time, and the first answer is taken
// ("hedged requests": Dean and Barroso, "The tail at scale", CACM 2013). Any thread.
//
// A read is done by its caller's thread, into its caller's buffer, and by no other. One that is
// late is read again by a thread of this object, into a buffer of its own. If that one is through
// first, the caller's read is interrupted (io/core/threads.h) and gets that buffer; else it is
// the other one that is interrupted, and nobody waits for it. So a buffer is never written to by
// anybody who was given up. A second one that is late as well is followed by a third.
//
// Failures: where the caller's read fails and another is under way, that one is waited for; if it
// fails, too, the error is that of the caller's read. A failure of the others is dropped.
// Interrupted as the tier's read.
class HedgedReads {
 public:
  // One read of the tier; any thread, and several at once.
  using Read = std::function<void(const std::string& key, Buffer& out, Range range)>;

  // `meter` (may be null) and what `read` refers to must outlive it. Throws what a thread's
  // constructor throws.
  HedgedReads(const HedgeAfter& after, TierMeter* meter, Read read);
  // Gives up the further reads that are under way. No read() may be.
  ~HedgedReads();
  HedgedReads(const HedgedReads&) = delete;
  HedgedReads& operator=(const HedgedReads&) = delete;

  // As Storage::read.
  void read(const std::string& key, Buffer& out, Range range);

 private:
  struct Call;
  struct Hedge;
  using HedgePtr = std::shared_ptr<Hedge>;
  class Listed;

  // When a read of this range is late. Nothing: that is not known yet.
  std::optional<Clock::duration> limit(const Range& range) const;
  void follow(Call& call, Buffer& out);
  // The first of the late calls that may be read again, begun; null: there is none now.
  HedgePtr next_hedge(TimePoint now);
  HedgePtr begin_hedge(Call& call);
  // Sleeps until a call may be late. With the lock.
  void sleep(std::unique_lock<std::mutex>& lock);
  // Lets another thread look after late calls while this one reads. With the lock.
  void hand_over();
  void perform(const HedgePtr& hedge);
  // A thread's life.
  void run();

  const HedgeAfter after_;
  TierMeter* const meter_;
  const Read read_;
  ReadTimes times_;
  HedgeBudget budget_;
  std::mutex mutex_;
  std::condition_variable_any answered_;  // a further read has ended
  std::condition_variable late_;          // whoever sleeps until a call may be late
  std::condition_variable idle_;          // threads with nothing to do
  std::vector<Call*> calls_;              // under way, the oldest first
  std::vector<HedgePtr> hedges_;          // under way
  TimePoint awake_at_{};                  // to when late_ sleeps
  Clock::duration pause_{};               // how long, where no call is there now
  bool called_ = false;                   // since then
  bool watched_ = false;                  // a thread looks after late calls
  size_t idle_threads_ = 0;
  bool ended_ = false;
  std::vector<std::jthread> threads_;
};

// Null where the options ask for no second reads.
std::unique_ptr<HedgedReads> hedged_reads(const TailOptions& options, TierMeter* meter,
                                          HedgedReads::Read read);

}  // namespace stoker
