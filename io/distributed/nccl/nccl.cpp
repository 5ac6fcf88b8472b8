#define USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "io/distributed/c10d.h"

namespace stoker {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

void add(c10d::ProcessGroup& group, const Ranks& ranks, int64_t timeout_ms) {
  const auto options = Nccl::Options::create();
  options->timeout = std::chrono::milliseconds(timeout_ms);
  const auto backend = c10::make_intrusive<Nccl>(group.getStore(), static_cast<int>(ranks.rank),
                                                 static_cast<int>(ranks.world), options);
  group.setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::NCCL, backend);
  group.setDefaultBackend(c10d::ProcessGroup::NCCL);
}

const bool registered = [] {
  collectives().at("nccl").add = add;
  return true;
}();

}  // namespace
}  // namespace stoker
