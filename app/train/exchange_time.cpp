#include "app/train/exchange_time.h"

#include "io/device/stream_spans.h"

namespace stoker {

ExchangeTime::ExchangeTime(const DeviceInfo& device, StepLedger& ledger)
    : device_(device), ledger_(ledger) {
  if (device.torch_device.is_cuda()) spans_ = std::make_unique<StreamSpans>(device.torch_device);
}

ExchangeTime::~ExchangeTime() = default;

void ExchangeTime::begin() {
  ledger_.switch_to(Segment::allreduce);
  if (spans_) spans_->begin();
}

void ExchangeTime::end() {
  if (spans_) spans_->end();
  ledger_.switch_to(Segment::compute);
}

double ExchangeTime::seconds() {
  if (device_.emulated) return 0;
  return spans_ ? spans_->seconds() : ledger_.totals()[static_cast<size_t>(Segment::allreduce)];
}

}  // namespace stoker
