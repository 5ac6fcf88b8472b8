#include "io/checkpoint/sets/set_names.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "io/checkpoint/sets/manifest.h"
#include "io/core/digest.h"

namespace stoker {
namespace {

constexpr const char* kSetPrefix = "step-";
constexpr const char* kTemporaryPrefix = ".tmp-";
constexpr const char* kRankPrefix = "rank-";
constexpr const char* kAsidePrefix = "aside.";
constexpr size_t kDigits = 10;
constexpr size_t kRandomDigits = 16;  // of unique_name()

// -1: something else stands there.
int64_t number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return -1;
  int64_t number = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, number);
  return error == std::errc() && stop == end ? number : -1;
}

// A committed set has its manifest, and was not set aside.
void add_object(SetEntry& set, const std::string& name, uint64_t bytes) {
  set.bytes += bytes;
  if (name.starts_with(kAsidePrefix)) {
    set.state = name.substr(std::string_view(kAsidePrefix).size());
    set.step = -1;
  } else if (name == kManifestName && set.state == "unfinished") {
    set.state = "committed";
    set.step = object_step_of(set.name);
  }
}

}  // namespace

std::string set_name(int64_t step) { return fmt::format("{}{:0{}}", kSetPrefix, step, kDigits); }

int64_t step_of(const std::string& name) {
  const int64_t step = number_after(kSetPrefix, name);
  return step >= 0 && set_name(step) == name ? step : -1;
}

std::string rank_directory(const std::string& directory, int64_t rank) {
  return fmt::format("{}/{}{}", directory, kRankPrefix, rank);
}

int64_t rank_of(const std::string& name) { return number_after(kRankPrefix, name); }

bool is_garbage(const std::string& name) { return name.starts_with(kTemporaryPrefix); }

std::string garbage_name(const std::string& directory, const std::string& what) {
  return unique_name(directory + "/" + kTemporaryPrefix + what + "-");
}

std::string object_set_name(int64_t step) { return unique_name(set_name(step) + "-"); }

int64_t object_step_of(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || name.size() - dash != kRandomDigits + 1) return -1;
  if (name.find_first_not_of("0123456789abcdef", dash + 1) != std::string::npos) return -1;
  return step_of(name.substr(0, dash));
}

std::string aside_name(const std::string& why) { return kAsidePrefix + why; }

std::vector<SetEntry> sets_among(const std::vector<ObjectInfo>& objects,
                                 const std::string& directory) {
  std::vector<SetEntry> sets;
  for (const ObjectInfo& object : objects) {
    const size_t begin = directory.size() + 1;
    const size_t end = object.key.find('/', begin);
    // A key that ends there is an empty directory, of a tier that has those.
    if (end == std::string::npos || end + 1 == object.key.size()) continue;
    const std::string name = object.key.substr(begin, end - begin);
    if (object_step_of(name) < 0) continue;
    if (sets.empty() || sets.back().name != name) sets.push_back({name, -1, "unfinished"});
    add_object(sets.back(), object.key.substr(end + 1), object.bytes);
  }
  return sets;
}

}  // namespace stoker
