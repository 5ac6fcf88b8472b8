#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/device/device.h"

namespace stoker {

// Decoded samples that stay where the device reads them: put once, gathered into batches as often
// as wanted. The trainer's thread, whose stream keeps a gather behind the puts before it; neither
// waits for the device, but where a gather is asked for host pixels.
class ResidentSamples {
 public:
  virtual ~ResidentSamples() = default;
  // Batches are used in host memory (and copied by Device::copy, where that copies at all): gather
  // wants a slot for their pixels.
  virtual bool on_host() const = 0;
  // The rows of `filled` become the samples `places`. Its slot is kept until it has been read.
  virtual void put(const Batch& filled, std::span<const int64_t> places) = 0;
  // Fills `batch`, whose labels are there, with the samples `places`: its pixels, where it has a
  // slot, and its on_device, where not on_host(). Such a batch is ready in the order of the stream:
  // DeviceBatch::ready is null.
  virtual void gather(std::span<const int64_t> places, Batch& batch) = 0;
};

// Memory for `samples` of them, on the device or where it has none of its own in the host's.
// host_pixels: gather will be given slots also where not on_host(). An emulated device keeps
// nothing, but for host_pixels. Throws Error(ExitCode::environment) where the memory is not there.
std::unique_ptr<ResidentSamples> make_resident_samples(Device& device, const SampleSpec& spec,
                                                       int64_t samples, bool host_pixels);

}  // namespace stoker
