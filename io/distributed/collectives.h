#pragma once

#include <functional>
#include <map>
#include <string>

#include "io/core/ranks/ranks.h"

namespace c10d {
class ProcessGroup;
class Store;
}  // namespace c10d

namespace stoker {

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
