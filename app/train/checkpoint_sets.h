#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/set_store.h"
#include "io/storage/storage.h"

namespace stoker {

// One entry of a checkpoint directory. A value.
struct SetEntry {
  std::string tier;
  std::string path;
  std::optional<int64_t> step;  // absent: not a set under its name
  // "committed", "on this tier only" (not drained), "damaged" and "superseded" (set aside by a
  // resume), "unreadable" (its manifest is damaged), "unfinished" (left by a killed process)
  std::string state;
  std::string created;  // UTC; empty where the manifest is unreadable
  std::optional<double> age_s;
  uint64_t bytes = 0;
};

// The checkpoints that `where` refers to: a configuration, a directory with step-... in it, or one
// set. Reads only. One thread at a time.
class CheckpointSets {
 public:
  // Error(ExitCode::config) where the configuration names no tier for checkpoints;
  // ExitCode::environment where `where` is neither.
  CheckpointSets(const std::string& where, const std::vector<std::string>& overrides);

  std::vector<SetEntry> list() const;
  // Reads every byte of a committed set. Empty: it is intact; else file, tensor and offset of the
  // damage.
  std::string verify(const SetEntry& entry) const;

 private:
  struct Place {
    std::unique_ptr<SetStore> store;
    std::optional<int64_t> only;  // one set of it
  };
  void add_config(const std::string& file, const std::vector<std::string>& overrides);
  void add_directory(const std::string& directory);
  bool elsewhere(const Place& place, int64_t step) const;
  SetEntry describe(const Place& place, const std::string& name) const;

  Tiers tiers_;
  std::vector<std::unique_ptr<FileTree>> trees_;
  std::vector<Place> places_;
  bool drains_ = false;
};

}  // namespace stoker
