#include "io/metrics/tracer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace stoker {
namespace {

constexpr size_t kMaxEvents = 1 << 16;  // of a thread, between two deliveries
constexpr auto kDelivery = std::chrono::milliseconds(200);

int64_t thread_id() {
  thread_local const int64_t id = ::gettid();
  return id;
}

std::string thread_name() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

}  // namespace

Tracer::Tracer() = default;

Tracer::~Tracer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

std::unique_ptr<Tracer::Subscription> Tracer::subscribe(Window window, Consumer consumer) {
  std::unique_ptr<Subscription> result(new Subscription(*this, window, std::move(consumer)));
  const std::lock_guard lock(mutex_);
  subscriptions_.push_back(result.get());
  if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  update_windows();
  return result;
}

Tracer::Subscription::~Subscription() {
  tracer_.deliver();
  const std::scoped_lock lock(tracer_.delivery_, tracer_.mutex_);
  std::erase(tracer_.subscriptions_, this);
  tracer_.update_windows();
}

void Tracer::Subscription::deliver() {
  tracer_.deliver();
  const std::lock_guard lock(tracer_.delivery_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Tracer::at_step(int64_t finished) {
  const std::lock_guard lock(mutex_);
  finished_ = finished;
  if (!subscriptions_.empty()) update_windows();
}

// Under mutex_.
void Tracer::update_windows() {
  Clock::rep until = kNever;
  const TimePoint now = Clock::now();
  for (Subscription* s : subscriptions_) {
    if (finished_ < s->window_.first_step) continue;
    s->from_ = std::min(s->from_, now);
    if (s->failed_ || finished_ - s->window_.first_step >= s->window_.steps) {
      s->to_ = std::min(s->to_, now);
    }
    if (!s->failed_) until = std::max(until, s->to_.time_since_epoch().count());
  }
  until_.store(until, std::memory_order_relaxed);
}

void Tracer::keep(const TraceEvent& event) {
  Rows& rows = threads_.here();
  const std::lock_guard lock(rows.mutex);
  const int64_t id = thread_id();
  // A thread that ended may have left its number to this one.
  if (rows.rows.empty() || rows.rows.back().id != id) {
    rows.rows.push_back({id, thread_name(), {}, thread_number()});
  }
  keep(rows, event);
}

void Tracer::record(const char* row, const TraceEvent& event) {
  if (!wanted(event.begin)) return;
  const std::lock_guard engines(engines_mutex_);
  Rows& rows = engines_[row];
  const std::lock_guard lock(rows.mutex);
  if (rows.rows.empty()) rows.rows.push_back({-static_cast<int64_t>(engines_.size()), row, {}});
  keep(rows, event);
}

void Tracer::add(std::vector<TraceRow> rows) {
  const std::lock_guard lock(engines_mutex_);
  for (TraceRow& row : rows) {
    std::erase_if(row.events, [this](const TraceEvent& event) { return !wanted(event.begin); });
    if (row.events.empty()) continue;
    recorded_ += std::ssize(row.events);
    added_.push_back(std::move(row));
  }
}

void Tracer::keep(Rows& rows, const TraceEvent& event) {
  if (rows.kept == kMaxEvents) {
    ++dropped_;
    return;
  }
  ++rows.kept;
  ++recorded_;
  rows.rows.back().events.push_back(event);
}

std::vector<TraceRow> Tracer::take() {
  std::vector<TraceRow> result;
  const auto take_from = [&result](Rows& rows) {
    const std::lock_guard lock(rows.mutex);
    if (rows.kept == 0) return;
    for (TraceRow& row : rows.rows) {
      if (row.events.empty()) continue;
      result.push_back({row.id, row.name, std::exchange(row.events, {}), row.slot});
    }
    rows.rows.erase(rows.rows.begin(), rows.rows.end() - 1);
    rows.kept = 0;
  };
  threads_.each(take_from);
  const std::lock_guard lock(engines_mutex_);
  for (auto& [name, rows] : engines_) take_from(rows);
  std::ranges::move(added_, std::back_inserter(result));
  added_.clear();
  return result;
}

void Tracer::deliver() {
  const std::lock_guard delivery(delivery_);
  const std::vector<TraceRow> rows = take();
  struct Target {
    Subscription* subscription;
    TimePoint from, to;
  };
  std::vector<Target> targets;
  {
    const std::lock_guard lock(mutex_);
    for (Subscription* s : subscriptions_) targets.push_back({s, s->from_, s->to_});
  }
  for (const auto& [subscription, from, to] : targets) {
    if (subscription->failed_) continue;
    try {
      for (const TraceRow& row : rows) {
        TraceRow part{row.id, row.name, {}, row.slot};
        std::copy_if(row.events.begin(), row.events.end(), std::back_inserter(part.events),
                     [from = from, to = to](const TraceEvent& event) {
                       return event.begin >= from && event.begin < to;
                     });
        if (!part.events.empty()) subscription->consumer_(part);
      }
    } catch (...) {
      subscription->error_ = std::current_exception();
      const std::lock_guard lock(mutex_);
      subscription->failed_ = true;
      update_windows();
    }
  }
}

void Tracer::run() {
  pthread_setname_np(pthread_self(), "tracer");
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kDelivery, [this] { return stop_; })) {
    lock.unlock();
    deliver();
    lock.lock();
  }
}

}  // namespace stoker
