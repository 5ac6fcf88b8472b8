#pragma once

#include <functional>

#include "io/checkpoint/options.h"
#include "io/checkpoint/set_store.h"
#include "io/checkpoint/snapshot.h"

namespace stoker {

// What the writing thread asks and tells while it writes.
struct WriteControl {
  std::function<bool()> stop;      // true: give up
  std::function<void()> progress;  // a piece is written
};

// Writes a finished snapshot as the set of manifest.step: data files by byte ranges of kChunkBytes,
// with options.threads threads, then what the layout adds, then the commit. `manifest` has what is
// not the snapshot's. When it returns, the set is committed, and read back under verify: all; when
// it throws, it is not there.
void write_set(SetStore& store, const Snapshot& snapshot, Manifest manifest,
               const CheckpointOptions& options, const WriteControl& control);

}  // namespace stoker
