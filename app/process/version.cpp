#include "app/process/version.h"

#include <fmt/format.h>
#include <stoker_version.h>

#include <string_view>

namespace stoker {

std::string version_line() {
  const std::string torch = STOKER_TORCH_VERSION;
  return fmt::format("stoker {} ({}, {}, {}, revision {})", STOKER_VERSION,
                     torch.empty() ? "without LibTorch" : "LibTorch " + torch, STOKER_COMPILER,
                     STOKER_BUILD_TYPE, STOKER_REVISION);
}

std::vector<std::pair<std::string, std::string>> build_labels() {
  return {{"version", STOKER_VERSION},
          {"revision", STOKER_REVISION},
          {"compiler", STOKER_COMPILER},
          {"build_type", STOKER_BUILD_TYPE},
          {"torch", STOKER_TORCH_VERSION}};
}

}  // namespace stoker
