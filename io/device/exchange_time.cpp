#include "io/device/exchange_time.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <deque>

namespace stoker {
namespace {

// As many steps as a device keeps outstanding unless it is told otherwise.
constexpr size_t kOutstanding = 2;

}  // namespace

struct ExchangeTime::Spans {
  struct Span {
    c10::Event begin, end;
  };
  explicit Spans(at::Device of) : guard(of.type()), device(of) {}

  c10::Event event() const { return {device.type(), c10::EventFlag::BACKEND_DEFAULT}; }
  void mark(c10::Event& event) const { event.record(guard.getStream(device)); }

  const c10::impl::VirtualGuardImpl guard;
  const at::Device device;
  std::deque<Span> open;
  double seconds = 0;
};

ExchangeTime::ExchangeTime(const DeviceInfo& device, StepLedger& ledger)
    : device_(device),
      ledger_(ledger),
      spans_(device.timing_method == "events" ? std::make_unique<Spans>(device.torch_device)
                                              : nullptr) {}

ExchangeTime::~ExchangeTime() = default;

void ExchangeTime::begin() {
  ledger_.switch_to(Segment::allreduce);
  if (!spans_) return;
  spans_->open.push_back({spans_->event(), spans_->event()});
  spans_->mark(spans_->open.back().begin);
}

void ExchangeTime::end() {
  if (spans_ && !spans_->open.empty()) spans_->mark(spans_->open.back().end);
  ledger_.switch_to(Segment::compute);
}

double ExchangeTime::seconds() {
  if (device_.emulated) return 0;
  if (!spans_) return ledger_.totals()[static_cast<size_t>(Segment::allreduce)];
  for (auto& open = spans_->open; open.size() > kOutstanding; open.pop_front()) {
    open.front().end.synchronize();
    spans_->seconds += open.front().begin.elapsedTime(open.front().end) / 1e3;
  }
  return spans_->seconds;
}

}  // namespace stoker
