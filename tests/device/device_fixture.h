#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "io/device/device.h"

namespace stoker {

inline const SampleSpec kSpec{2, 3, 3};

// A device from one line of YAML, and batches in its memory.
struct DeviceFixture {
  explicit DeviceFixture(const std::string& yaml, uint64_t seed = 1) {
    const Node node = parse_yaml(yaml, "t.yaml");
    device = Registry<Device>::global()
                 .parse(Section(node, "", "device", nullptr))
                 .create({seed, [this](const std::string& line) { notes.push_back(line); }, 0,
                          &exchange});
  }

  Batch batch(int64_t size = 4) {
    const size_t bytes = static_cast<size_t>(size) * kSpec.bytes();
    Batch result;
    result.size = size;
    result.pixels = device->allocate(bytes).data;
    result.labels = std::make_shared<std::vector<int64_t>>(size);
    std::iota(result.pixels.get(), result.pixels.get() + bytes, uint8_t{1});
    std::iota(result.labels->begin(), result.labels->end(), int64_t{10});
    return result;
  }
  DeviceBatch copy(int64_t size = 4) { return device->copy(batch(size), kSpec); }

  std::vector<std::string> notes;
  StepExchange exchange;  // with nobody, until a test sets it
  std::unique_ptr<Device> device;
};

inline void no_work() {}

}  // namespace stoker
