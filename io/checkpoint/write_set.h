#pragma once

#include <functional>

#include "io/checkpoint/options.h"
#include "io/checkpoint/set_store.h"
#include "io/checkpoint/snapshot.h"

namespace stoker {

// What the writing thread asks and reports while it writes. Both are called by several threads at
// once.
struct WriteControl {
  // True: give up.
  std::function<bool()> stop;
  // A piece is written.
  std::function<void()> progress;
};

// Writes a finished snapshot as the set of manifest.step: data files by byte ranges of kChunkBytes,
// with options.threads threads, then what the layout adds, then the commit. `manifest` has what is
// not the snapshot's. When it returns, the set is committed, and read back under verify: all; when
// it throws, it is not there.
void write_set(SetStore& store, const Snapshot& snapshot, Manifest manifest,
               const CheckpointOptions& options, const WriteControl& control);

}  // namespace stoker
