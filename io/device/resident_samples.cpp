#include "io/device/resident_samples.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "io/core/error.h"
#include "io/core/system/memory.h"
#include "io/device/device.h"
#include "io/metrics/machine/system_stats.h"

namespace stoker {
namespace {

// The share of memory that is kept free. The rest of the machine needs some of the host's, and
// weights, activations and batches come later into a GPU's.
constexpr uint64_t kKeptFree = 5;  // a fifth

double gigabytes(uint64_t bytes) { return 1e-9 * static_cast<double>(bytes); }

// Absent: nobody can say.
std::optional<uint64_t> free_bytes(at::Device device) {
  if (device.is_cpu()) return read_system_stats({}).memory.available;
  if (!device.is_cuda()) return std::nullopt;
  return at::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first;
}

void require_memory(const std::string& where, at::Device device, const SampleSpec& spec,
                    int64_t samples) {
  const std::optional<uint64_t> there = free_bytes(device);
  if (!there) return;
  const uint64_t room = *there - *there / kKeptFree;
  if (static_cast<uint64_t>(samples) <= room / spec.bytes()) return;
  // As a double: the product may not fit 64 bits.
  const double needed = gigabytes(spec.bytes()) * static_cast<double>(samples);
  throw Error(ExitCode::environment,
              fmt::format("loader: device_resident needs {:.2f} GB for {} decoded samples, and "
                          "{:.2f} GB are free on {}, of which it takes {:.2f} GB at most: use a "
                          "smaller decoder.size, or loader.type=prefetched",
                          needed, samples, gigabytes(*there), where, gigabytes(room)));
}

// Rows in host memory. A device that computes nothing reads nothing: its batches are shapes, and
// there are rows only where somebody asks for their pixels.
class HostRows final : public ResidentSamples {
 public:
  // samples: 0 for no rows.
  HostRows(const SampleSpec& spec, int64_t samples, bool emulated)
      : spec_(spec),
        emulated_(emulated),
        rows_(allocate_huge(static_cast<size_t>(samples) * spec.bytes(), false)) {}

  bool on_host() const override { return !emulated_; }
  void put(const Batch& filled, std::span<const int64_t> places) override {
    if (rows_.bytes == 0) return;
    const uint8_t* from = filled.pixels.get();
    for (const int64_t place : places) {
      std::memcpy(row(place), from, spec_.bytes());
      from += spec_.bytes();
    }
  }
  void gather(std::span<const int64_t> places, Batch& batch) override {
    uint8_t* to = batch.pixels.get();
    for (size_t i = 0; i < places.size() && to != nullptr; ++i, to += spec_.bytes()) {
      std::memcpy(to, row(places[i]), spec_.bytes());
    }
    if (emulated_) batch.on_device = std::make_shared<DeviceBatch>(shapes_of(batch, spec_));
  }

 private:
  uint8_t* row(int64_t place) {
    return rows_.data.get() + static_cast<size_t>(place) * spec_.bytes();
  }

  const SampleSpec spec_;
  const bool emulated_;
  const HostMemory rows_;
};

// Rows on a device with streams. Everything is queued on the current stream, the trainer's, so a
// batch needs no event of its own and the allocator no word about other streams.
class StreamRows final : public ResidentSamples {
 public:
  StreamRows(Device& device, const SampleSpec& spec, int64_t samples)
      : device_(device),
        target_(device.info().torch_device),
        spec_(spec),
        // In words where that is possible: a gather by bytes moves one byte a thread.
        word_(spec.bytes() % sizeof(int64_t) == 0 ? at::kLong : at::kByte),
        guard_(target_.type()) {
    const auto words = static_cast<int64_t>(spec.bytes() / c10::elementSize(word_));
    rows_ = at::empty({samples, words}, at::TensorOptions(word_).device(target_));
  }
  ~StreamRows() override {
    try {
      if (!sent_.empty()) sent_.back().read.synchronize();
    } catch (...) {
      // A failed device reads no host memory any more.
    }
  }

  bool on_host() const override { return false; }

  void put(const Batch& filled, std::span<const int64_t> places) override {
    const at::NoGradGuard no_grad;
    const c10::DeviceGuard on_device(target_);
    const at::Tensor rows =
        send(filled.pixels, {static_cast<int64_t>(places.size()), rows_.size(1)}, word_);
    rows_.index_copy_(0, send(places), rows);
  }

  void gather(std::span<const int64_t> places, Batch& batch) override {
    const at::NoGradGuard no_grad;
    const c10::DeviceGuard on_device(target_);
    const auto& [shape, type] = batch_layout(batch.size, spec_);
    auto result = std::make_shared<DeviceBatch>(without_slot(batch));
    result->images = at::index(rows_, {send(places)}).view(type).view(shape);
    result->labels = send(*batch.labels);
    if (batch.pixels) {
      at::from_blob(batch.pixels.get(), shape, at::TensorOptions(type)).copy_(result->images);
    }
    batch.on_device = std::move(result);
  }

 private:
  struct Sent {
    std::shared_ptr<uint8_t> from;
    c10::Event read;
  };

  at::Tensor send(const std::shared_ptr<uint8_t>& from, at::IntArrayRef shape,
                  at::ScalarType type) {
    while (!sent_.empty() && sent_.front().read.query()) sent_.pop_front();
    const at::TensorOptions options(type);
    at::Tensor to = at::empty(shape, options.device(target_));
    to.copy_(at::from_blob(from.get(), shape, options), true);
    c10::Event read(target_.type(), c10::EventFlag::BACKEND_DEFAULT);
    read.record(guard_.getStream(target_));
    sent_.push_back({from, std::move(read)});
    return to;
  }
  at::Tensor send(std::span<const int64_t> numbers) {
    const HostMemory pinned = device_.allocate(numbers.size_bytes());
    std::memcpy(pinned.data.get(), numbers.data(), numbers.size_bytes());
    return send(pinned.data, {static_cast<int64_t>(numbers.size())}, at::kLong);
  }

  Device& device_;
  const at::Device target_;
  const SampleSpec spec_;
  const at::ScalarType word_;
  const c10::impl::VirtualGuardImpl guard_;
  at::Tensor rows_;
  std::deque<Sent> sent_;
};

}  // namespace

std::unique_ptr<ResidentSamples> make_resident_samples(Device& device, const SampleSpec& spec,
                                                       int64_t samples, bool host_pixels) {
  const DeviceInfo& info = device.info();
  if (info.torch_device.is_cpu() || info.emulated) {
    const bool kept = !info.emulated || host_pixels;
    if (kept) require_memory("this machine", at::kCPU, spec, samples);
    return std::make_unique<HostRows>(spec, kept ? samples : 0, info.emulated);
  }
  require_memory(info.name, info.torch_device, spec, samples);
  return std::make_unique<StreamRows>(device, spec, samples);
}

}  // namespace stoker
