#include "app/train/torch_set_up.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "app/experiment/experiment_options.h"

namespace stoker {
namespace {

// Makes that many threads at once and ends them. std::system_error if one cannot be made.
void try_threads(int64_t count) {
  std::vector<std::jthread> threads;
  const auto wait_for_the_end = [](const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
  };
  for (int64_t i = 0; i < count; ++i) threads.emplace_back(wait_for_the_end);
}

}  // namespace

void set_up_torch(const ExperimentOptions& options, const DeviceInfo& device, const Notify& warn) {
  const int64_t threads = thread_count(options.training.threads);
  at::manual_seed(options.run.seed);
  // LibTorch makes its two pools of threads below. If a thread of them cannot be made, one pool
  // waits for it for ever, and OpenMP's ends the process. Trying it before gives an error instead.
  try_threads(2 * (threads - 1));
  at::set_num_threads(static_cast<int>(threads));
  at::parallel_for(0, threads, 1, [](int64_t, int64_t) {});
  // On a GPU some kernels of AlexNet have no deterministic form: LibTorch warns and goes on.
  at::globalContext().setDeterministicAlgorithms(options.training.deterministic,
                                                 device.torch_device.is_cuda());
  const bool on_cpu = device.torch_device.is_cpu() && !device.emulated;
  if (on_cpu && options.training.precision == Precision::bf16 && !cpu_has_bf16_kernels()) {
    warn(kNoBf16Kernels);
  }
}

}  // namespace stoker
