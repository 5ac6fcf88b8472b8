#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/sets/set_store.h"
#include "tests/support/checkpoints.h"
#include "tests/support/gates.h"
#include "tests/support/object_tier.h"
#include "tests/support/temporary_directory.h"

namespace stoker {

using Steps = std::vector<int64_t>;

// Options of checkpointers, without their braces.
const std::string kDirect = "type: direct, slow: slow, every_steps: 1, keep_last: 100";
const std::string kBurst =
    "type: burst_buffer, fast: fast, slow: slow, every_steps: 1, keep_last: 100, retry_seconds: "
    "0.001";
const std::string kLatest = ", resume: latest";

// A run that is started again and again on the same two tiers. One thread.
class CheckpointRun {
 public:
  CheckpointRun() : root_(own_.path()) {}
  // In a directory that exists (a mounted one).
  explicit CheckpointRun(std::string root) : root_(std::move(root)) {}
  // So that a failed assertion does not leave a thread behind a gate.
  ~CheckpointRun() {
    open_gates(fast);
    open_gates(slow);
  }

  Layers fast, slow;  // for the next make()
  // Where it is there, the slow tier is one without files, over these objects; with these hooks.
  std::shared_ptr<Storage> bucket;
  ObjectTier::Hook seen, done;

  // A new process, as far as the files know. `options`: "type: direct, slow: slow".
  Checkpointer& make(const std::string& options) {
    stop();
    checkpoints_ = std::make_unique<Checkpoints>(root_, fast, slow);
    if (bucket) checkpoints_->tiers.add("slow", std::make_unique<ObjectTier>(bucket, seen, done));
    checkpointer_ = checkpoints_->make("{" + options + "}");
    return *checkpointer_;
  }
  void start(const std::string& options) { make(options).load(); }
  // The step from which a new process goes on, every byte of it checked; -1: from the start.
  int64_t resume(const std::string& options) {
    const std::optional<LoadedState> loaded = make(options).load();
    if (!loaded) return -1;
    EXPECT_EQ(wrong_with(*loaded), "") << "step " << loaded->step();
    return loaded->step();
  }
  // As a killed process: what was not done is not done.
  void stop() { checkpointer_.reset(); }

  bool save(int64_t step, std::optional<double> score = {}) {
    return Checkpoints::save(*checkpointer_, step, score);
  }
  bool offer(const CheckpointOffer& offer) {
    const bool begun = checkpointer_->save(offer, [&] { return small_state(offer.step); });
    checkpointer_->finish_copy();
    return begun;
  }
  // With another state than small_state().
  bool save_again(int64_t step) { return Checkpoints::save_again(*checkpointer_, step); }
  Checkpointer* operator->() { return checkpointer_.get(); }
  Checkpoints& checkpoints() { return *checkpoints_; }
  std::string warnings() const { return checkpoints_->warnings(); }
  std::string infos() const {
    std::string text;
    for (const std::string& line : checkpoints_->info) text += line + "\n";
    return text;
  }

  std::string path(const std::string& tier) const { return root_ + "/" + tier; }
  // Whether the set of the step is that of save_again().
  bool is_second(const std::string& tier, int64_t step) const {
    const FileTree tree(path(tier));
    return SetStore(tier, tree, "run").manifest(step).training.contains("again");
  }
  std::string set(const std::string& tier, int64_t step) const {
    return path(tier) + "/run/" + set_name(step);
  }
  // Of the committed sets.
  std::vector<int64_t> steps(const std::string& tier) const {
    const FileTree tree(path(tier));
    return SetStore(tier, tree, "run").steps();
  }
  // The names beside them.
  std::vector<std::string> others(const std::string& tier) const {
    std::vector<std::string> names;
    for (const std::string& name : FileTree(path(tier)).list("run")) {
      if (step_of(name) < 0 && name != "LOCK" && name != "latest") names.push_back(name);
    }
    return names;
  }
  // Where a set is on a tier and whole.
  bool intact(const std::string& tier, int64_t step) const {
    try {
      return wrong_with(LoadedState(FileTree(path(tier)), "run/" + set_name(step), 1)).empty();
    } catch (const Error&) {
      return false;
    }
  }

 private:
  static void open_gates(const Layers& layers) {
    for (const auto& layer : layers) {
      if (const auto gate = std::dynamic_pointer_cast<GateLayer>(layer)) gate->open();
    }
  }
  const TemporaryDirectory own_;
  const std::string root_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<Checkpointer> checkpointer_;
};

}  // namespace stoker
