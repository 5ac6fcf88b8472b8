#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/profiler/profile.h"

namespace stoker {

// How much a view shows of lists that may be endless. A value.
struct ProfileViewLimits {
  size_t files = 50;        // those that took the most time
  size_t directories = 20;  // those with the most bytes
  size_t values = 8;        // commonest access sizes and strides
  size_t bins = 120;        // of the course over time
};

// What views show of a profile, under keys that stay: README.md lists them. What was not measured
// is absent. For `stoker darshan --json`, the report and the live page. Any thread.
nlohmann::json profile_json(const IoProfile& profile, const ProfileViewLimits& limits = {});

// What a reader has to know before any figure of the profile, a sentence each: what is missing of
// it, how far it is from the kernel's count, and what is in no such profile. Any thread.
std::vector<std::string> profile_remarks(const IoProfile& profile);

}  // namespace stoker
