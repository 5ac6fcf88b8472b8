#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/core/system/file.h"
#include "io/core/system/memory.h"
#include "io/dataset/formats/hdf5/protocol.h"
#include "io/storage/storage.h"

namespace stoker {

// Error(ExitCode::environment), with what to do, where lib/stoker/stoker_hdf5 is not installed. Its
// path.
std::string hdf5_program();

// What it is asked. A value.
struct Hdf5Call {
  // The object that it is about: "shard train-0.h5".
  std::string subject;
  // What to do, and with what: protocol.h.
  std::vector<std::string> arguments;
  // Gives bytes of the object that the program works on.
  std::function<void(Range, Buffer&)> read = {};
  uint64_t readable = 0;
  // Its descriptor 3; -1: none.
  int file = -1;
  std::string program = hdf5_program();
  // It is ended after so long without progress.
  int patience_ms = 60'000;
};

// Runs it until it has answered, and gives its answer, at most kHdf5MaxAnswer bytes. It has a
// process of its own because libhdf5 crashes on damaged files. Error(ExitCode::data): it refused,
// crashed, made no progress for too long, asked for more than it may, or answered nonsense;
// Error(ExitCode::environment): it is not installed. What `read` throws is passed on. Blocks; any
// thread.
Buffer run_hdf5(const Hdf5Call& call);

// The version of libhdf5 that it uses. Fails as run_hdf5().
std::string hdf5_version();

}  // namespace stoker
