#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/base/command_line.h"
#include "io/core/config/registry.h"
#include "io/core/error.h"

namespace stoker {

// What `stoker bench checkpoint` is asked for. A value.
struct CheckpointBenchArguments : ConfigArguments {
  int64_t rounds = 5;  // saves and loads
  // Measure saves in a loop of steps instead.
  bool loop = false;
  double step_ms = 200;
  int64_t every = 5;    // steps from one save to the next
  bool loader = false;  // the experiment's loader runs beside it, as fast as it can

  // Measure a state of this shape instead of the model's (shapes.h). Empty: the model's.
  std::string shape;
  int64_t ranks = 0;             // processes that save together; 0: as the shape has them
  std::vector<int64_t> rank{0};  // those of them that run here
  std::string parallel;          // "tp=8,pp=4,dp=2"; empty: as the shape has it
  std::string optimizer = "adamw";
  double scale = 1;       // of the elements of each tensor
  bool in_turns = false;  // each checkpoint is read and removed before the next is saved
  bool closed = false;    // refuse what MLPerf's CLOSED division does not allow
};

// The measurement of a model's state. It needs LibTorch, and is in a library of its own, which is
// loaded when one is made. One thread.
class CheckpointBench {
 public:
  static constexpr const char* kKind = "bench state";
  struct Inputs {
    const CheckpointBenchArguments& arguments;
  };
  virtual ~CheckpointBench() = default;
  // Measures and prints. Throws Interrupted where its thread is told to give up.
  virtual ExitCode run() = 0;
};

template <>
Registry<CheckpointBench>& Registry<CheckpointBench>::global();

// `stoker bench checkpoint`: with a shape, bench_shape(); else the experiment's model.
// Error(ExitCode::config) where that needs a library that is not there. A signal stops it: what is
// on the tiers is removed, and nothing is reported.
ExitCode bench_checkpoint(const CheckpointBenchArguments& arguments);

// `stoker bench checkpoint --shape`: some ranks of a training of that shape save and load their
// state, all at once, by the protocol of every save, in a folder of its own on the first tier of
// the experiment's checkpoints; config may also be a folder. The bytes are made while they are
// written, and loading verifies every one and keeps none, so that memory holds a few pieces of
// 8 MiB. Prints throughput and duration as MLPerf Storage defines them, and how fast the bytes are
// made beside memset and memcpy. Error(ExitCode::config) for a shape, a parallelism or ranks that
// do not go together, and with `closed` for what that division does not allow; IoError. Where a
// signal stops it, a save that is under way is ended, the folder is removed, nothing is printed,
// and the exit code is the signal's. One thread beside those of the ranks.
ExitCode bench_shape(const CheckpointBenchArguments& arguments);

}  // namespace stoker
