#include "io/metrics/io_profile/io_session_feed.h"

namespace stoker {

std::unique_ptr<IoSessionFeed::Subscription> IoSessionFeed::subscribe(Consumer consumer) {
  std::unique_ptr<Subscription> made(new Subscription(*this, std::move(consumer)));
  const std::lock_guard lock(calls_);
  subscriptions_.push_back(made.get());
  return made;
}

IoSessionFeed::Subscription::~Subscription() {
  const std::lock_guard lock(feed_.calls_);
  std::erase(feed_.subscriptions_, this);
}

void IoSessionFeed::ended(const IoSessionReport& report) {
  const std::lock_guard calls(calls_);
  for (const Subscription* const one : subscriptions_) one->consumer_(report);
  const std::lock_guard lock(mutex_);
  newest_ = report.json;
}

std::string IoSessionFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

}  // namespace stoker
