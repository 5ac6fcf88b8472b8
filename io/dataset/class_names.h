#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/storage/storage.h"

namespace stoker {

// Label 1,000,000 and above is a slip, and not a class.
inline constexpr int64_t kMaxClasses = 1'000'000;

// The names of classes, by label, in an object of a tier: one on each line. Empty: the object does
// not exist. IoError as the tier's. Any thread.
std::vector<std::string> read_class_names(const Storage& tier, const std::string& key);

}  // namespace stoker
