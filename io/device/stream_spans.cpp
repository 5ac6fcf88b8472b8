#include "io/device/stream_spans.h"

#include <utility>

namespace stoker {
namespace {

// As many steps as a device keeps outstanding unless it is told otherwise.
constexpr size_t kOutstanding = 2;

}  // namespace

c10::Event StreamSpans::mark() const {
  c10::Event event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  event.record(guard_.getStream(device_));
  return event;
}

void StreamSpans::begin() {
  open_.push_back({mark(), c10::Event(device_.type(), c10::EventFlag::BACKEND_DEFAULT)});
}

void StreamSpans::end() {
  if (!open_.empty()) open_.back().end.record(guard_.getStream(device_));
}

double StreamSpans::seconds() {
  for (; open_.size() > kOutstanding; open_.pop_front()) {
    open_.front().end.synchronize();
    seconds_ += open_.front().begin.elapsedTime(open_.front().end) / 1e3;
  }
  return seconds_;
}

}  // namespace stoker
