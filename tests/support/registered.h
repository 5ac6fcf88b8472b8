#pragma once

#include <string>
#include <vector>

#include "io/core/config/plugin.h"
#include "io/core/config/registry.h"

namespace stoker {

// The types of a kind that exist in this build. A test is linked with few plug-ins: the others are
// loaded here.
template <class T>
std::vector<std::string> registered_types() {
  load_all_plugins();
  return Registry<T>::global().names();
}

}  // namespace stoker
