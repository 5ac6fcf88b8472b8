#pragma once

#include <limits>
#include <memory>
#include <string>

#include "io/core/system/memory.h"
#include "io/experiment/data_options.h"
#include "io/metrics/hub.h"

namespace stoker {

// What a loader works for, beside the data. A value; what it refers to must outlive the loader.
struct LoaderUse {
  Split split = Split::train;
  // The part of every batch that is loaded.
  Shard shard{};
  // Memory of batches.
  HostAllocator allocate = [](size_t bytes) { return allocate_huge(bytes, true); };
  // Where batches go; null: they stay in host memory. Loader::Inputs says who needs one.
  Device* device = nullptr;
  // All ranks that load parts of the batches. They make the same loaders in the same order.
  RankGroup& group = alone();
  // Bytes of batches that may be held at once (Loader::Inputs).
  uint64_t may_hold = std::numeric_limits<uint64_t>::max();
};

// The tiers, the data set and the decoder of an experiment, without its device: all that commands
// about data need. Opening it may list the whole data set. The constructor opens them and throws
// their Error and IoError. Owns what it gives references to. One thread at a time; for the parts
// their own headers say it.
class ExperimentData {
 public:
  // notify: gets messages of the components for the user, perhaps from other threads. May be empty.
  ExperimentData(const DataOptions& options, const Notify& notify);

  // Where the tiers, and other parts, count what they do.
  Hub& hub() { return hub_; }
  const Hub& hub() const { return hub_; }
  // All tiers of the configuration, by name.
  const Tiers& tiers() const { return tiers_; }
  const Dataset& dataset() const { return *dataset_; }
  // Error(ExitCode::config) where it can't take what the data set's samples are (check_arrays()).
  const Decoder& decoder() const;
  // A loader that has not been started, as `loader` of the configuration says. Its figures go into
  // the hub, by split; it must not outlive this. Error(ExitCode::config) as decoder(), and for a
  // loader that works for a device where none is given.
  std::unique_ptr<Loader> make_loader(const LoaderUse& use);
  // The name of the tier that the data set reads; empty if it reads no tier.
  const std::string& tier() const { return tier_; }
  // The files of that tier. Null if it keeps no files, or if there is no tier. Lives as long as
  // this.
  const FileTree* files() const;

 private:
  const Component<Loader> loader_;
  const uint64_t seed_;
  const Notify notify_;
  int64_t loaders_made_ = 0;
  Hub hub_;  // outlives what writes into it
  Tiers tiers_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Decoder> decoder_;
  std::string decoder_type_;
  ArrayVerdict decodes_;
  std::string tier_;
};

}  // namespace stoker
