#pragma once

#include "io/storage/emulated/tier_model.h"
#include "io/storage/storage.h"

namespace stoker {

// What an emulated tier is beside Storage, for those who let its callers wait in a way of their
// own (`stoker mount`). What both return lives as long as the tier. Any thread.
class Emulates {
 public:
  virtual ~Emulates() = default;
  // The device: whoever reads data() charges it.
  virtual TierModel& model() const = 0;
  // The tier below, where nothing waits.
  virtual const Storage& data() const = 0;
};

}  // namespace stoker
