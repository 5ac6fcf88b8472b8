#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// Which paths are looked at: those that begin with one of `include`, and of all others those that
// do not begin with one of `exclude`. A value; any thread.
struct PathFilter {
  std::vector<std::string> exclude, include;
  // Whether a file of this name is looked at. Darshan's reserved names ("<STDOUT>") always are. The
  // kernel's names of pipes and sockets never are, as they are not paths.
  bool sees(std::string_view name) const;
};

}  // namespace stoker
