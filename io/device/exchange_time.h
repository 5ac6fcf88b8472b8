#pragma once

#include <memory>

#include "io/device/device.h"
#include "io/metrics/ledger.h"

namespace stoker {

// How long a rank's steps have waited for gradients to be exchanged: the part that backward does
// not hide. Where the device has streams, events on the current one say so, and the host never
// waits for the latest of them; elsewhere the ledger's segment `allreduce`. An emulated device
// knows it by itself, and nothing is counted here.
class ExchangeTime {
 public:
  // Both must outlive it.
  ExchangeTime(const DeviceInfo& device, StepLedger& ledger);
  ~ExchangeTime();

  // Says that the last gradient is there. Called by the trainer's thread, or by that of a backward
  // pass it waits for.
  void begin();
  // What follows needs the exchanged gradients. The trainer's thread; once a step.
  void end();
  // The exchange time of all steps in seconds. A device with streams leaves out the last two steps,
  // which may still be going on. So ranks that ask after the same step speak of the same ones.
  double seconds();

 private:
  struct Spans;
  const DeviceInfo& device_;
  StepLedger& ledger_;
  const std::unique_ptr<Spans> spans_;  // null: no streams
};

}  // namespace stoker
