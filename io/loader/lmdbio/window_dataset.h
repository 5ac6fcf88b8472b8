#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/dataset/shards/stored_records.h"
#include "io/loader/lmdbio/group_order.h"

namespace stoker {

// A data set some of whose samples have been read already: those it takes from where they lie, all
// others from the data set below. One thread. Failures: as Dataset.
class WindowDataset final : public Dataset {
 public:
  // The records of one split. Both data sets must outlive it.
  WindowDataset(const Dataset& below, const StoredRecords& records, Split split)
      : Dataset(below.on_error()), below_(below), records_(records), split_(split) {}

  // From now on these records have been read: `values`, which must stay until the next call.
  void show(const Records& which, std::span<const Bytes> values) {
    which_ = which;
    values_ = values;
  }

  const std::vector<std::string>& classes() const override { return below_.classes(); }
  int64_t size(Split split) const override { return below_.size(split); }
  SampleInfo info(Split split, int64_t index) const override { return below_.info(split, index); }
  EncodedSample read(Split split, int64_t index, Buffer& scratch) const override;

 private:
  const Dataset& below_;
  const StoredRecords& records_;
  const Split split_;
  Records which_;
  std::span<const Bytes> values_;
};

}  // namespace stoker
