#include "app/commands/bench_checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>

#include "app/experiment.h"
#include "app/train_step.h"
#include "app/training_tensors.h"
#include "io/checkpoint/options.h"
#include "io/checkpoint/set_store.h"
#include "io/core/parallel.h"

namespace stoker {
namespace {

double timed(const std::function<void()>& work) {
  const TimePoint begin = Clock::now();
  work();
  return seconds(Clock::now() - begin);
}

// Memory that is all zeros may be one page of the kernel's, and is copied too quickly.
void fill(const TrainStep& step) {
  const at::NoGradGuard no_grad;
  for (const OptimizerState& state : step.optimizer().state()) {
    for (torch::Tensor tensor : state.tensors) {
      if (tensor.is_floating_point()) tensor.uniform_();
    }
  }
}

class Memcpy {
 public:
  Memcpy(Device& device, uint64_t bytes, int64_t threads)
      : from_(device.allocate(bytes)), to_(device.allocate(bytes)), threads_(threads) {
    std::memset(from_.data.get(), 1, bytes);
    std::memset(to_.data.get(), 2, bytes);
  }
  double best() const {
    const double one = timed([&] { std::memcpy(to_.data.get(), from_.data.get(), from_.bytes); });
    const uint64_t share = from_.bytes / static_cast<uint64_t>(threads_);
    const double all = timed([&] {
      parallel_for(threads_, threads_, [&](int64_t i) {
        const uint64_t at = share * static_cast<uint64_t>(i);
        std::memcpy(to_.data.get() + at, from_.data.get() + at, share);
      });
    });
    return std::min(one, all);
  }
  Bytes bytes() const { return {from_.data.get(), from_.bytes}; }

 private:
  HostMemory from_;
  HostMemory to_;
  int64_t threads_;
};

// Writes and reads a file of `bytes` as a set is written and read, and removes it.
void probe(const FileTree& tree, const std::string& directory, Bytes bytes, int64_t threads,
           TierCost& cost) {
  const std::string path = directory + "/.tmp-probe";
  tree.make_directories(directory);
  const Bytes whole = bytes.first(bytes.size() / kDirectAlignment * kDirectAlignment);
  const auto chunks = static_cast<int64_t>((whole.size() + kChunkBytes - 1) / kChunkBytes);
  const auto piece = [&](int64_t i) {
    const uint64_t at = kChunkBytes * static_cast<uint64_t>(i);
    return std::pair(at, std::min(kChunkBytes, whole.size() - at));
  };
  cost.write_s.push_back(timed([&] {
    const TreeFile file = tree.create(path, FileAccess::direct);
    file.reserve(whole.size());
    parallel_for(threads, chunks, [&](int64_t i) {
      const auto [at, size] = piece(i);
      file.write_at(at, whole.subspan(at, size));
    });
    file.sync();
  }));
  cost.read_s.push_back(timed([&] {
    const TreeFile file = tree.open(path, FileAccess::direct);
    parallel_for(threads, threads, [&](int64_t thread) {
      const std::unique_ptr<uint8_t, decltype(&std::free)> memory(
          static_cast<uint8_t*>(std::aligned_alloc(kDirectAlignment, kChunkBytes)), std::free);
      for (int64_t i = thread; i < chunks; i += threads) {
        const auto [at, size] = piece(i);
        file.read_at(at, {memory.get(), size});
      }
    });
  }));
  tree.remove(path);
}

// What the configuration says of its checkpoints; sections are components and keep it to
// themselves.
struct Setting {
  explicit Setting(const ExperimentOptions& options) : node(options.checkpoint.dump()) {}
  std::string operator[](const char* key) const {
    const Node* value = node.find(key);
    return value == nullptr ? "" : value->scalar;
  }
  Node node;
};

}  // namespace

CheckpointBenchmark bench_checkpoint(const ExperimentOptions& options, int64_t rounds) {
  const Setting setting(options);
  CheckpointBenchmark result;
  result.type = options.checkpoint.type();
  if (result.type == "none") {
    throw Error(ExitCode::config, "checkpoint.type is none: there is nothing to measure");
  }
  result.snapshot = setting["snapshot"];
  result.durability = setting["durability"];
  const std::string directory = setting["directory"];
  const auto silent = [](const std::string&) {};
  Experiment experiment(options, silent);
  result.device = experiment.device().info().name;
  const TrainStep step(experiment, 1, 1);
  fill(step);
  const DeviceInfo& device = experiment.device().info();
  const TrainingTensors tensors(step, device.emulated ? torch::kCPU : device.torch_device);
  std::vector<std::string> warnings;
  auto checkpointer = experiment.make_checkpointer(
      tensors.infos(), {}, [&](const std::string& text) { warnings.push_back(text); });
  checkpointer->load();
  result.set_bytes = checkpointer->status().set_bytes;
  CheckpointOptions threads;
  threads.threads = std::stoll(setting["threads"]);
  result.threads = threads.resolve_threads();
  for (const char* key : {"fast", "slow"}) {
    const bool used = key != std::string("fast") || result.type == "burst_buffer";
    if (used && !setting[key].empty()) result.tiers.push_back({setting[key], {}, {}});
  }
  const Memcpy memcpy(experiment.device(), result.set_bytes, result.threads);
  for (int64_t round = 1; round <= rounds; ++round) {
    SaveCost cost;
    const TimePoint begin = Clock::now();
    checkpointer->save({round, false, 0, true}, [&] {
      TrainingState state;
      state.step = round;
      tensors.capture(state);
      return state;
    });
    checkpointer->finish_copy();
    cost.stall_s = seconds(Clock::now() - begin);
    if (!checkpointer->flush() || checkpointer->status().failed > 0) {
      throw Error(ExitCode::storage,
                  "bench checkpoint: " + (warnings.empty() ? "a save failed" : warnings.back()));
    }
    cost.durable_s = seconds(Clock::now() - begin);
    cost.saved_s = checkpointer->status().save_s.back();
    cost.memcpy_s = memcpy.best();
    result.saves.push_back(cost);
    for (TierCost& tier : result.tiers) {
      probe(*experiment.tiers().at(tier.tier).files(), directory, memcpy.bytes(), result.threads,
            tier);
    }
    const FileTree& last = *experiment.tiers().at(result.tiers.back().tier).files();
    result.load_s.push_back(
        timed([&] { LoadedState(last, directory + "/" + set_name(round), result.threads); }));
  }
  result.drain_s = checkpointer->status().drain_s;
  checkpointer.reset();
  for (const TierCost& tier : result.tiers) {
    std::filesystem::remove_all(experiment.tiers().at(tier.tier).files()->root() + "/" + directory);
  }
  return result;
}

}  // namespace stoker
