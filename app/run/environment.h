#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/core/error.h"
#include "io/device/device.h"

namespace stoker {

// The contents of environment.json: the machine, and the run's device, LibTorch's threads and the
// command line. Never throws for what is unknown.
nlohmann::json describe_environment(const DeviceInfo& device, const std::string& run_dir,
                                    int64_t threads);

// What `stoker environment` is asked for. A value.
struct EnvironmentArguments {
  bool json = false;
};

// `stoker environment`: prints the machine, its GPUs, and of each part of the program that may be
// missing whether it works here, or why not. ExitCode::ok, whatever is missing. Loads the driver
// and the program's own plug-ins, for the rest of the process.
ExitCode print_environment(const EnvironmentArguments& arguments);

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

// What becomes of memory that is freed, for the rest of the process. Any thread; before the large
// allocations.

// Lets the C library keep what is freed: a step on the CPU frees its gradients and activations
// (AlexNet, 32 images: some 300 MB), and the next one would get them from the kernel again, zeroed,
// with a fault for every page. The process then keeps the memory of its largest step. Does nothing
// without glibc.
void keep_freed_heap();

// Lets LibTorch take the memory of tensors on the CPU by malloc. By posix_memalign, which it calls
// otherwise, glibc before 2.38 hardly ever gives out again what was freed: a small run with an
// evaluation after every fifth step grew by 0.2 MB with each of them.
void reuse_freed_tensors();

}  // namespace stoker
