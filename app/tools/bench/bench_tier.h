#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/metrics/hub.h"
#include "io/storage/storage.h"

namespace stoker {

// A name for the folder that a benchmark has on a tier, below another folder of it; empty: at the
// root. It begins with a dot, so that no data set takes it for a class, and is nobody else's.
std::string bench_folder_name(const std::string& below = "");

// A folder that a benchmark has on a tier. It is made here, and the destructor removes it with all
// that is in it, and what had to be made above it. What processes left beside it that were killed
// is removed, too: where the tier has files a lock tells it, else it is known of processes of this
// machine alone. One thread; the tier must outlive it. IoError where it cannot be made; Error where
// somebody else keeps its lock for ten seconds; Interrupted (io/core/threads.h).
class BenchFolder {
 public:
  // path: by bench_folder_name().
  BenchFolder(Storage& tier, std::string path);
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;

  const std::string& path() const { return path_; }
  // Whether the tier has the same folder: another name of one tier, or another way to its root.
  bool is_of(const Storage& tier) const;

 private:
  void make();
  void remove() const;

  Storage& tier_;
  const FileTree* const files_;  // null: the tier has objects alone
  const std::string path_;
  std::vector<std::string> made_;  // the folders above that were not there, the lowest first
  FileDescriptor lock_;
};

// Makes the folder on a tier, but for one that has a folder of `folders` already.
void add_bench_folder(std::vector<std::unique_ptr<BenchFolder>>& folders, Storage& tier,
                      const std::string& path);

// What a reader of a tier's figures has to know: whether they are calculated, what the tier could
// not do as it was asked to, how often an emulation was too slow for its model.

// The state of a tier and of the tiers that it is made of ("data", "data.inner"). Nothing for an
// empty name.
std::vector<TierMeter::State> parts_of_tier(const Hub& hub, const std::string& tier);

// A line for each condition: "tier data: posix", "tier data: EMULATED ...".
std::vector<std::string> tiers_text(const std::vector<TierMeter::State>& tiers);
// An object for each tier: name, type, emulated, conditions and, where it is emulated, overruns.
nlohmann::json tiers_json(const std::vector<TierMeter::State>& tiers);

}  // namespace stoker
