#include "app/tools/bench_train/checkpoint/saved_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand_like.h>

#include <algorithm>
#include <cstring>

#include "io/core/threads.h"

namespace stoker {
namespace {

// Memory that is all zeros may be one page of the kernel's, and is copied too quickly.
void fill(const TrainStep& step) {
  const at::NoGradGuard no_grad;
  for (const OptimizerState& state : step.optimizer().state()) {
    for (const at::Tensor& tensor : state.tensors) {
      if (tensor.is_floating_point()) tensor.uniform_();
    }
  }
  for (at::Tensor& parameter : parameters(step.model())) {
    parameter.mutable_grad() = at::rand_like(parameter, at::TensorOptions().requires_grad(false));
  }
}

}  // namespace

double timed(const std::function<void()>& work) {
  const TimePoint begin = Clock::now();
  work();
  return seconds(Clock::now() - begin);
}

MemcpyBaseline::MemcpyBaseline(Device& device, uint64_t bytes, int64_t threads)
    : from_(device.allocate(bytes)), to_(device.allocate(bytes)) {
  std::memset(from_.data.get(), 1, bytes);
  std::memset(to_.data.get(), 2, bytes);
  double one = seconds(1), all = seconds(threads);
  for (int i = 0; i < 2; ++i) {
    one = std::min(one, seconds(1));
    all = std::min(all, seconds(threads));
  }
  if (all < one) threads_ = threads;
}

double MemcpyBaseline::seconds(int64_t threads) const {
  const uint64_t share = from_.bytes / static_cast<uint64_t>(threads);
  return timed([&] {
    parallel_for(threads, threads, [&](int64_t i) {
      const uint64_t at = share * static_cast<uint64_t>(i);
      std::memcpy(to_.data.get() + at, from_.data.get() + at, share);
    });
  });
}

ExperimentOptions SavedModel::options(const ConfigArguments& arguments) {
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back("checkpoint.directory=" + bench_folder_name());
  overrides.emplace_back("checkpoint.resume=none");
  ExperimentOptions options = read_experiment(arguments.config, overrides);
  if (!options.checkpoint.info().saves) {
    throw Error(ExitCode::config, "checkpoint.type is none: there is nothing to measure");
  }
  return options;
}

SavedModel::SavedModel(const ExperimentOptions& options)
    : directory_(options.checkpoint.info().directory),
      experiment_(options, [](const std::string&) {}),
      step_(experiment_, 1, 1),
      tensors_(step_, experiment_.device().info().emulated
                          ? at::Device(at::kCPU)
                          : experiment_.device().info().torch_device) {
  for (const std::string& tier : options.checkpoint.info().tiers) {
    folders_.push_back(std::make_unique<BenchFolder>(this->tier(tier), directory_));
  }
  fill(step_);
  checkpointer_ = experiment_.make_checkpointer(
      tensors_.infos(), {}, [this](const std::string& text) { warnings_.push_back(text); });
  if (const auto places = checkpointer_->finish_copy()) tensors_.back_buffer(*places)->finish();
  checkpointer_->load();
}

std::unique_ptr<BackBuffer> SavedModel::save(int64_t step) {
  checkpointer_->save({step, false, 0, true}, [&] {
    TrainingState state;
    state.step = step;
    tensors_.capture(state);
    return state;
  });
  const std::optional<StatePlaces> places = checkpointer_->finish_copy();
  return places ? tensors_.back_buffer(*places) : nullptr;
}

void SavedModel::flush() {
  if (checkpointer_->flush() && checkpointer_->status().failed == 0) return;
  throw Error(ExitCode::storage,
              "bench checkpoint: " + (warnings_.empty() ? "a save failed" : warnings_.back()));
}

}  // namespace stoker
