#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/checkpoint/checkpointer.h"
#include "io/checkpoint/saving/snapshot.h"
#include "io/core/system/memory.h"
#include "io/storage/file_tree.h"

// What a test of checkpoints stands on: tiers behind layers (file_layers.h), a state of 20 KB whose
// bytes follow from its step, and checkpointers made from YAML.

namespace stoker {

// All of a data file that a snapshot holds; not staged, after finish().
inline Bytes image_of(Snapshot& snapshot, size_t file) {
  return {snapshot.take(file, 0).data(), snapshot.layout().files[file].bytes};
}

using Layers = std::vector<std::shared_ptr<FileLayer>>;  // the outermost last

// A tier that has files, and no objects.
class FileTier final : public Storage, public KeepsFiles {
 public:
  explicit FileTier(const std::string& root, const Layers& layers = {}) : files_(root) {
    for (const auto& layer : layers) files_ = files_.behind(layer);
  }
  std::vector<ObjectInfo> list(const std::string&) const override { return {}; }
  void read(const std::string&, Buffer&, Range) const override {}
  std::unique_ptr<ObjectWriter> create(const std::string&) override { return nullptr; }
  void remove(const std::string&) override {}
  const FileTree* files() const override { return &files_; }

 private:
  FileTree files_;
};

// Odd sizes, a scalar and an empty one among them.
inline const std::vector<TensorInfo>& small_tensors() {
  static const std::vector<TensorInfo> tensors = [] {
    std::vector<TensorInfo> all = {{"model.weight", "F32", {67, 33}, 0},
                                   {"model.bias", "F16", {67}, 0},
                                   {"model.steps", "I64", {}, 0},
                                   {"model.none", "F32", {0, 3}, 0},
                                   {"optimizer.weight.momentum", "F32", {67, 33}, 0},
                                   {"rng.cpu", "U8", {1021}, 0}};
    for (TensorInfo& tensor : all) tensor.bytes = *tensor_bytes(tensor.dtype, tensor.shape);
    return all;
  }();
  return tensors;
}

// The bytes of a tensor at a step.
inline std::vector<uint8_t> small_bytes(const TensorInfo& tensor, int64_t step) {
  std::vector<uint8_t> bytes(tensor.bytes);
  uint64_t x = std::hash<std::string>()(tensor.name) + static_cast<uint64_t>(step);
  for (uint8_t& byte : bytes) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<uint8_t>(x >> 56);
  }
  return bytes;
}

// The state after `step`. `keep` holds the bytes.
inline TrainingState small_state(int64_t step, std::optional<double> score = {}) {
  TrainingState state{.step = step,
                      .score = score,
                      .training = {{"step", step}},
                      .tensors = {},
                      .device = nullptr,
                      .keep = nullptr};
  if (score) state.training["score"] = *score;
  const auto bytes = std::make_shared<std::vector<std::vector<uint8_t>>>();
  for (const TensorInfo& tensor : small_tensors()) {
    bytes->push_back(small_bytes(tensor, step));
    // An empty tensor has an address as well: null means "on the device".
    bytes->back().reserve(1);
  }
  for (const auto& tensor : *bytes) state.tensors.push_back(tensor.data());
  state.keep = bytes;
  return state;
}

// What is wrong with a state that was loaded; empty: every byte is that of its step.
inline std::string wrong_with(const LoadedState& state) {
  if (state.training().value("step", int64_t{-1}) != state.step()) return "step of `training`";
  if (state.tensors().size() != small_tensors().size()) return "number of tensors";
  for (size_t i = 0; i < state.tensors().size(); ++i) {
    const TensorInfo& tensor = state.tensors()[i];
    std::vector<uint8_t> bytes(tensor.bytes);
    state.copy(i, bytes.data());
    if (bytes != small_bytes(tensor, state.step())) return "bytes of " + tensor.name;
  }
  return {};
}

// A run's checkpoints on tiers "fast" and "slow", in directory "run" of each. Makes one
// checkpointer after the other, as a run that is started again does.
class Checkpoints {
 public:
  // `root` holds the roots of the tiers: root/fast and root/slow.
  // `fast_root`: where the fast tier is another one, as that of another node.
  explicit Checkpoints(const std::string& root, const Layers& fast = {}, const Layers& slow = {},
                       const std::string& fast_root = "fast") {
    tiers.add("fast", std::make_unique<FileTier>(root + "/" + fast_root, fast));
    tiers.add("slow", std::make_unique<FileTier>(root + "/slow", slow));
  }

  // make("{type: burst_buffer, fast: fast, slow: slow, every_steps: 1}")
  // shares, goes_on_from: Checkpointer::Inputs'.
  std::unique_ptr<Checkpointer> make(const std::string& yaml, RankGroup& group = alone(),
                                     const std::vector<TensorShare>& shares = {},
                                     std::optional<int64_t> goes_on_from = {}) {
    const Node node = parse_yaml(yaml, "test.yaml");
    const ConfigContext context{.tiers = {"fast", "slow"}};
    return Registry<Checkpointer>::global()
        .parse(Section(node, "", Checkpointer::kKind, &context))
        .create({.tiers = tiers,
                 .directory = "run",
                 .tensors = small_tensors(),
                 .allocate = [](size_t bytes) { return allocate_huge(bytes, true); },
                 .stop_requested = [this] { return stop; },
                 .info = [this](const std::string& line) { info.push_back(line); },
                 .warn = [this](const std::string& line) { warn.push_back(line); },
                 .group = group,
                 .shares = shares,
                 .goes_on_from = goes_on_from});
  }

  // Offers the state after `step`, and lets the trainer go on: what a step of training does.
  static bool save(Checkpointer& checkpointer, int64_t step, std::optional<double> score = {}) {
    const bool begun = checkpointer.save({.step = step}, [&] { return small_state(step, score); });
    checkpointer.finish_copy();
    return begun;
  }

  // Saves a step that may have been saved, in a state that says so.
  static bool save_again(Checkpointer& checkpointer, int64_t step) {
    const bool begun = checkpointer.save({.step = step, .again = true}, [&] {
      TrainingState state = small_state(step);
      state.training["again"] = true;
      return state;
    });
    checkpointer.finish_copy();
    return begun;
  }

  // All lines, for messages of tests and for searching.
  std::string warnings() const {
    std::string text;
    for (const std::string& line : warn) text += line + "\n";
    return text;
  }

  Tiers tiers;
  std::optional<TimePoint> stop;  // when a signal asked the process to end
  std::vector<std::string> info, warn;
};

}  // namespace stoker
