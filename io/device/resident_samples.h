#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/device/device.h"

namespace stoker {

// Decoded samples that stay where the device reads them: put once, gathered into batches as often
// as wanted. The trainer's thread. Its stream keeps a gather behind the puts before it; neither
// waits for the device, except where a gather is asked for host pixels.
class ResidentSamples {
 public:
  // Waits until nothing reads a slot any more.
  virtual ~ResidentSamples() = default;
  // Batches are used in host memory (and copied by Device::copy, where that copies at all): gather
  // wants a slot for their pixels.
  virtual bool on_host() const = 0;
  // Keeps the rows of `filled` as the samples `places`. Its slot is held until it has been read.
  virtual void put(const Batch& filled, std::span<const int64_t> places) = 0;
  // Fills `batch`, whose labels are there, with the samples `places`: its pixels, where it has a
  // slot, and its on_device, where not on_host(). Such a batch is ready in the order of the stream:
  // DeviceBatch::ready is null.
  virtual void gather(std::span<const int64_t> places, Batch& batch) = 0;
};

// Memory for `samples` samples: on the device, or in the host's memory if the device has no memory
// of its own. host_pixels: gather() will be given slots even where not on_host(). An emulated
// device keeps nothing, unless host_pixels asks for it. `device` must outlive the result.
// Error(ExitCode::environment) where there is not enough memory.
std::unique_ptr<ResidentSamples> make_resident_samples(Device& device, const SampleSpec& spec,
                                                       int64_t samples, bool host_pixels);

}  // namespace stoker
