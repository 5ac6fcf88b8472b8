#pragma once

#include <memory>

#include "io/device/device.h"
#include "io/metrics/ledger.h"

namespace stoker {

class StreamSpans;

// How long the trainer's steps have waited for gradients to be exchanged: the part that backward
// does not hide. On a device with streams its events say so, else the ledger's segment `allreduce`;
// an emulated device knows it by itself, and nothing is counted here.
class ExchangeTime {
 public:
  // Both must outlive it.
  ExchangeTime(const DeviceInfo& device, StepLedger& ledger);
  ~ExchangeTime();

  // The last gradient is there. The trainer's thread, or that of a backward pass it waits for.
  void begin();
  // What follows needs the exchanged gradients. The trainer's thread.
  void end();
  // In all, of the steps that are known so far: the same ones on every rank.
  double seconds();

 private:
  const DeviceInfo& device_;
  StepLedger& ledger_;
  std::unique_ptr<StreamSpans> spans_;  // null: no streams
};

}  // namespace stoker
