#pragma once

// LibTorch's c10d, for the sources of this folder and the plug-in with NCCL alone: its headers cost
// seconds.

#include <exception>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace stoker {

// The first line of what c10d or Gloo throws: the others are a trace of C++ frames.
std::string first_line(const std::exception& error);

}  // namespace stoker
