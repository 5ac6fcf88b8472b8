#pragma once

#include <string>
#include <vector>

namespace stoker {

// One level of the headspace: the rate when everything below it costs nothing.
struct HeadspaceLevel {
  std::string name;  // "device", "decoded", "encoded", "page_cache", "cold"
  std::string what;
  std::vector<double> images_per_s;  // one per measured epoch; empty: not measured
  std::string absent;                // why
  bool emulated = false;             // calculated, not measured
  std::vector<std::string> conditions;
};

struct HeadspaceVerdict {
  // The first level, from the top, that cannot feed the device; empty: all can.
  std::string binds_first;
  // Where most of what the device could take is lost against the level above; empty: nowhere.
  std::string largest_drop;
  double drop = 1;  // so many times less; rates above the device's count as the device's
};
HeadspaceVerdict judge(const std::vector<HeadspaceLevel>& levels);

}  // namespace stoker
