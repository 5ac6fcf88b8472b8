#pragma once

// LibTorch's c10d, for the sources of this folder and the plug-in with NCCL alone: its headers cost
// seconds.

#include <ATen/core/Tensor.h>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "io/core/ranks/ranks.h"
#include "io/distributed/peers.h"

namespace stoker {

// The first line of what c10d or Gloo throws: the others are a trace of C++ frames.
std::string first_line(const std::exception& error);

// c10d's Reducer, on which Python's DistributedDataParallel runs (Li et al., "PyTorch Distributed:
// Experiences on Accelerating Data Parallel Training", VLDB 2020): gradients lie in buckets of
// about bucket_bytes, each of which is exchanged as soon as backward has filled it. A parameter is
// never split. Contract: Peers::exchange.
std::unique_ptr<GradientExchange> make_reducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                               const std::vector<at::Tensor>& parameters,
                                               int64_t bucket_bytes, std::function<void()> ready);

// A library of collectives: adds its backend for the tensors of its devices to a process group. The
// key of the map is what `distributed.backend` calls it.
struct Collectives {
  // Adds the backend of this rank. timeout_ms: how long each operation may take. Null until the
  // plug-in is loaded.
  std::function<void(c10d::ProcessGroup& group, const Ranks& ranks, int64_t timeout_ms)> add;
  // The plug-in of this project that sets `add`. Empty: no plug-in is needed.
  std::string plugin;
};
std::map<std::string, Collectives>& collectives();

}  // namespace stoker
