#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/checkpoint_run.h"
#include "tests/support/object_tier.h"
#include "tests/support/storages.h"

namespace stoker {

// A run of which the slow tier is a bucket.
class BucketRun : public CheckpointRun {
 public:
  // What was done with an object, in this order.
  struct Operation {
    std::string op;
    std::string key;
  };

  BucketRun() {
    bucket = make_storage("{type: memory}");
    seen = [this](const std::string& op, const std::string& key) {
      const std::lock_guard lock(mutex_);
      operations_.push_back({op, key});
    };
  }
  ~BucketRun() { stop(); }

  std::vector<Operation> operations() const {
    const std::lock_guard lock(mutex_);
    return operations_;
  }
  SetStore store() const { return {"slow", *bucket, "run"}; }
  Steps bucket_steps() const { return store().steps(); }
  // The keys of a step's set.
  std::vector<std::string> set_keys(int64_t step) const {
    return keys_of(*bucket, "run/" + set_name(step));
  }
  // Every byte of the set is that of its step.
  bool bucket_intact(int64_t step) const {
    try {
      return wrong_with(LoadedState(store().files(), store().path(step), 1)).empty();
    } catch (const Error&) {
      return false;
    }
  }
  // Whether the set of the step is that of save_again().
  bool is_second_in_bucket(int64_t step) const {
    return store().manifest(step).training.contains("again");
  }
  // What neither a committed set consists of nor belongs beside one.
  std::vector<std::string> leftovers() const {
    std::vector<std::string> names;
    for (const SetEntry& set : store().files().entries("run")) {
      if (set.state == "unfinished") names.push_back(set.name);
    }
    return names;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Operation> operations_;
};

}  // namespace stoker
