#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "io/distributed/c10d.h"
#include "io/distributed/gradients.h"

namespace stoker {

// c10d's Reducer, on which Python's DistributedDataParallel runs (Li et al., "PyTorch Distributed:
// Experiences on Accelerating Data Parallel Training", VLDB 2020): gradients lie in buckets of
// about bucket_bytes, each of which is exchanged as soon as backward has filled it. A parameter is
// never split. Contract: Peers::exchange.
std::unique_ptr<GradientExchange> make_reducer(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                               const std::vector<at::Tensor>& parameters,
                                               int64_t bucket_bytes, std::function<void()> ready);

}  // namespace stoker
