#pragma once

#include <string>
#include <vector>

namespace stoker {

// A part that the program works without. A value.
struct OptionalPart {
  std::string name;
  bool works = false;
  // What the part is here, or why it does not work and how to change that.
  std::string detail;
};

// Tries each of them: the GPU's driver, LibTorch's CUDA half, the plug-ins of this project with
// what they load, the program for HDF5, io_uring, bf16 on the CPU. Loads them for the rest of the
// process: to be called before anything is built. One thread. Never throws for one that does not
// work.
std::vector<OptionalPart> optional_parts();

}  // namespace stoker
