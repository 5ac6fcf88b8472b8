#include <pthread.h>

#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "io/core/bounded_queue.h"
#include "io/core/sample_spec.h"
#include "io/core/threads.h"
#include "io/device/device.h"
#include "io/loader/pipeline.h"
#include "io/metrics/loader_meter.h"

namespace stoker {
namespace {

struct DevicePrefetchedOptions : LoaderOptions {
  static constexpr std::array kIdle{"samples_ahead", "filling"};
  LoaderInfo info() const { return LoaderOptions::info(prefetch_batches, device_batches); }
};

// The 2018 study's prefetch_to_device(N): as `prefetched`, and a thread copies batches to the
// device ahead of the trainer. An empty item in the queue marks the end of an epoch.
class DevicePrefetched final : public Pipeline {
 public:
  using Options = DevicePrefetchedOptions;
  DevicePrefetched(const Options& options, const Inputs& inputs)
      : Pipeline(options, options.info(), inputs),
        device_(needed_device(inputs)),
        meter_(inputs.meter) {
    if (!device_.info().own_memory) {
      inputs.notify("device_prefetched: " + device_.info().name +
                    " has no memory of its own, so batches stay in host memory as with prefetched");
    }
  }
  ~DevicePrefetched() override { stop(); }

  void start(int64_t epoch, int64_t first_batch) override {
    if (!device_.info().own_memory) return Pipeline::start(epoch, first_batch);
    // The end of the epoch lies in the queue, and need not have been asked for.
    if (queue_ && batch_ == batches()) next();
    if (queue_ && epoch == epoch_ && first_batch == batch_) return;
    stop();
    epoch_ = epoch;
    batch_ = first_batch;
    Pipeline::start(epoch, first_batch);
    queue_.emplace(static_cast<size_t>(options_.device_batches));
    filled_ = meter_.add_queue("device", options_.device_batches);
    thread_ = std::jthread([this, epoch](const std::stop_token& stop) {
      const Interruptible scope(stop);
      copy_ahead(epoch);
    });
  }

  std::optional<Batch> next() override {
    if (!device_.info().own_memory) return Pipeline::next();
    if (!queue_) return std::nullopt;
    try {
      std::optional<std::optional<Batch>> item = queue_->pop();
      if (item && *item) {
        ++batch_;
        filled_->get();
        return std::move(*item);
      }
    } catch (const Interrupted&) {  // by whoever waits here: the queue stays as it is
      throw;
    } catch (...) {
      stop();
      throw;
    }
    ++epoch_;
    batch_ = 0;
    return std::nullopt;
  }

 private:
  void copy_ahead(int64_t epoch) {
    pthread_setname_np(pthread_self(), "copy-ahead");
    try {
      // Room first: a batch that waits for its place would already lie on the device.
      while (queue_->wait_for_room()) {
        std::optional<Batch> batch = Pipeline::next();
        if (batch) {
          const TimePoint begin = Clock::now();
          auto copy = std::make_shared<DeviceBatch>(device_.copy(*batch, spec_));
          meter_.finished(Stage::copy, begin, Clock::now(),
                          used_bytes(batch->pixels.get(), batch->size, spec_));
          batch->pixels.reset();  // the copy holds the slot for as long as it needs it
          batch->on_device = std::move(copy);
        } else {
          Pipeline::start(++epoch, 0);
        }
        if (batch) filled_->put();
        queue_->push(std::move(batch));
      }
    } catch (...) {
      queue_->close(std::current_exception());
    }
  }

  void stop() {
    if (queue_) queue_->close();
    thread_.request_stop();  // it may wait for a batch
    if (thread_.joinable()) thread_.join();
    queue_.reset();
  }

  Device& device_;
  LoaderMeter& meter_;
  int64_t epoch_ = 0;  // of the next batch to hand out
  int64_t batch_ = 0;
  std::optional<BoundedQueue<std::optional<Batch>>> queue_;
  std::shared_ptr<QueueMeter> filled_;  // of queue_
  std::jthread thread_;
};

STOKER_REGISTER(Loader, "device_prefetched", DevicePrefetched);

}  // namespace
}  // namespace stoker
