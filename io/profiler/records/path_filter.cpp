#include "io/profiler/records/path_filter.h"

#include <algorithm>

namespace stoker {
namespace {

bool begins_with_one(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool PathFilter::sees(std::string_view name) const {
  if (name.starts_with('<')) return true;
  if (!name.starts_with('/')) return false;
  return !begins_with_one(name, exclude) || begins_with_one(name, include);
}

}  // namespace stoker
