#include "io/storage/tail/hedged_reads.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stop_token>
#include <system_error>
#include <utility>

#include "io/core/error.h"
#include "io/core/threads.h"

// The life of a read:
//
// 1. read() puts the call on a list and begins the caller's own read. Nobody is woken for that: one
//    thread of ours (the watcher) sleeps until the earliest call of the list can be late, and looks
//    again then. So a read that is in time costs a lock and no switch of threads.
// 2. A call that is late gets a Hedge, where the budget has one left. If not, it is looked at again
//    at twice the limit, when it is urgent: half of the budget is kept for those.
// 3. The watcher itself reads it, and another thread becomes the watcher.
// 4. Whoever is through first wins: settled under the lock by Call::won. Then the caller's read is
//    asked to stop; the caller finds `won` and takes its buffer.
// 5. When the caller is through, its call leaves the list, and hedges that are under way are asked
//    to stop. They know by call == nullptr that nobody waits, and what they read goes with them.

namespace stoker {
namespace {

using namespace std::chrono_literals;

constexpr size_t kMostHedges = 2;    // of one read
constexpr size_t kMostThreads = 16;  // further reads under way
// Below it, waking a thread takes as long as the read.
constexpr Clock::duration kShortest = 1ms;

}  // namespace

// A further read. Guarded by the lock; `out` is its thread's own until it has ended.
struct HedgedReads::Hedge {
  std::string key;
  Range range;
  Call* call;  // null: nobody waits any more
  Buffer out = {};
  std::stop_source stop = {};
};

// A read that a caller waits for. On the caller's stack; guarded by the lock but for what never
// changes.
struct HedgedReads::Call {
  const std::string& key;
  const Range range;
  const TimePoint begun;
  const Clock::duration limit;
  TimePoint due = begun + limit;
  std::stop_source stop = {};  // of the caller's own read
  std::vector<HedgePtr> hedges = {};
  size_t under_way = 0;  // of them
  HedgePtr won = {};
};

// A call is on the list while this lives.
class HedgedReads::Listed {
 public:
  Listed(HedgedReads& reads, Call& call) : reads_(reads), call_(call) {
    const std::lock_guard lock(reads_.mutex_);
    reads_.calls_.push_back(&call_);
    reads_.called_ = true;
    reads_.pause_ = call_.limit;
    if (call_.due < reads_.awake_at_) reads_.late_.notify_one();
  }
  ~Listed() {
    {
      const std::lock_guard lock(reads_.mutex_);
      std::erase(reads_.calls_, &call_);
      for (const HedgePtr& hedge : call_.hedges) hedge->call = nullptr;
    }
    // Without the lock: whoever waits is woken by this thread.
    for (const HedgePtr& hedge : call_.hedges) hedge->stop.request_stop();
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  HedgedReads& reads_;
  Call& call_;
};

HedgedReads::HedgedReads(const HedgeAfter& after, TierMeter* meter, Read read)
    : after_(after),
      meter_(meter),
      read_(std::move(read)),
      times_(after.quantile > 0 ? after.quantile : 0.5) {
  if (meter_ != nullptr) meter_->set_hedged();
  threads_.reserve(kMostThreads);
  const std::lock_guard lock(mutex_);
  threads_.emplace_back([this] { run(); });
}

HedgedReads::~HedgedReads() {
  std::vector<HedgePtr> left;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    left = hedges_;
  }
  for (const HedgePtr& hedge : left) hedge->stop.request_stop();
  late_.notify_all();
  idle_.notify_all();
  threads_.clear();
}

std::optional<Clock::duration> HedgedReads::limit(const Range& range) const {
  if (after_.quantile == 0) return after_.time;
  const std::optional<Clock::duration> seen = times_.limit(range);
  return seen ? std::optional(std::max(*seen, kShortest)) : std::nullopt;
}

void HedgedReads::read(const std::string& key, Buffer& out, Range range) {
  budget_.earn();
  const TimePoint begun = Clock::now();
  if (const std::optional<Clock::duration> limit = this->limit(range)) {
    Call call{key, range, begun, *limit};
    const Listed listed(*this, call);
    follow(call, out);
  } else {
    read_(key, out, range);
  }
  times_.add(range, Clock::now() - begun);
}

void HedgedReads::follow(Call& call, Buffer& out) {
  std::exception_ptr failure;
  try {
    const std::stop_callback with_us(interruption(), [&call] { call.stop.request_stop(); });
    const Interruptible scope(call.stop.get_token());
    return read_(call.key, out, call.range);
  } catch (const Interrupted&) {
    failure = std::current_exception();
  } catch (const IoError&) {
    failure = std::current_exception();
  }
  throw_if_interrupted();
  std::unique_lock lock(mutex_);
  wait_interruptibly(answered_, lock, [&call] { return call.won || call.under_way == 0; });
  if (!call.won) std::rethrow_exception(failure);
  std::swap(out, call.won->out);
  if (meter_ != nullptr) meter_->hedge_won();
}

HedgedReads::HedgePtr HedgedReads::next_hedge(TimePoint now) {
  for (Call* call : calls_) {
    if (call->due > now) continue;
    const bool urgent = now - call->begun >= 2 * call->limit;
    if (budget_.take(urgent)) return begin_hedge(*call);
    call->due = urgent ? now + std::max<Clock::duration>(call->limit / 4, kShortest)
                       : call->begun + 2 * call->limit;
  }
  return nullptr;
}

HedgedReads::HedgePtr HedgedReads::begin_hedge(Call& call) {
  auto hedge = std::make_shared<Hedge>(Hedge{call.key, call.range, &call});
  call.hedges.push_back(hedge);
  ++call.under_way;
  call.due = call.hedges.size() < kMostHedges ? Clock::now() + call.limit : TimePoint::max();
  hedges_.push_back(hedge);
  if (meter_ != nullptr) meter_->hedge_sent();
  return hedge;
}

void HedgedReads::sleep(std::unique_lock<std::mutex>& lock) {
  awake_at_ = TimePoint::max();
  for (const Call* call : calls_) awake_at_ = std::min(awake_at_, call->due);
  // Calls that come one after the other wake nobody.
  if (std::exchange(called_, false)) awake_at_ = std::min(awake_at_, Clock::now() + pause_);
  if (awake_at_ == TimePoint::max()) {
    late_.wait(lock);
  } else {
    late_.wait_until(lock, awake_at_);
  }
}

void HedgedReads::hand_over() {
  watched_ = false;
  if (idle_threads_ > 0) return idle_.notify_one();
  if (ended_ || threads_.size() == kMostThreads) return;
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {  // no more threads: this one comes back
  }
}

void HedgedReads::perform(const HedgePtr& hedge) {
  bool read = false;
  try {
    const Interruptible scope(hedge->stop.get_token());
    read_(hedge->key, hedge->out, hedge->range);
    read = true;
  } catch (...) {  // the caller's own read says what is wrong
  }
  if (read && meter_ != nullptr) meter_->hedge_moved(hedge->out.size());
  std::stop_source first(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    std::erase(hedges_, hedge);
    Call* const call = hedge->call;
    if (call == nullptr) return;
    --call->under_way;
    if (read && !call->won) {
      call->won = hedge;
      call->due = TimePoint::max();
      first = call->stop;
    }
  }
  answered_.notify_all();
  first.request_stop();
}

void HedgedReads::run() {
  pthread_setname_np(pthread_self(), "hedge");
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (watched_) {
      ++idle_threads_;
      idle_.wait(lock, [this] { return ended_ || !watched_; });
      --idle_threads_;
      continue;
    }
    watched_ = true;
    HedgePtr hedge;
    while (!ended_ && !(hedge = next_hedge(Clock::now()))) sleep(lock);
    hand_over();
    if (!hedge) return;
    lock.unlock();
    perform(hedge);
    hedge.reset();
    lock.lock();
  }
}

std::unique_ptr<HedgedReads> hedged_reads(const TailOptions& options, TierMeter* meter,
                                          HedgedReads::Read read) {
  if (!options.hedge) return nullptr;
  return std::make_unique<HedgedReads>(*options.hedge, meter, std::move(read));
}

bool Scalar<HedgeAfter>::parse(const std::string& text, HedgeAfter& out) {
  if (text.starts_with('p')) {
    double percent = 0;
    if (!parse_number(text.substr(1), percent)) return false;
    if (percent < 50 || percent > 99.9) return false;
    out = {percent / 100, {}};
    return true;
  }
  Duration time;
  if (!Scalar<Duration>::parse(text, time) || time.ms < 1 || time.ms > 60'000) return false;
  out = {0, std::chrono::milliseconds(time.ms)};
  return true;
}

std::string Scalar<HedgeAfter>::format(const HedgeAfter& value) {
  if (value.quantile > 0) return fmt::format("p{:.6g}", 100 * value.quantile);
  return Scalar<Duration>::format({value.time / std::chrono::milliseconds(1)});
}

}  // namespace stoker
