#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Which paths are looked at: those that begin with one of `include`, and of all others those that
// begin with none of `exclude`. A value; any thread.
struct PathFilter {
  std::vector<std::string> exclude, include;
  // Also of Darshan's reserved names ("<STDOUT>"), which always are. Never of what is no path: the
  // kernel's names of pipes and sockets.
  bool sees(std::string_view name) const;
};

}  // namespace stoker
