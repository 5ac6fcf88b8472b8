#pragma once

#include <string>

#include "io/core/config/registry.h"

namespace stoker {

// A check of a part that the program works without, for `stoker environment`. A plug-in registers
// one for what it needs. One thread.
class PartCheck {
 public:
  static constexpr const char* kKind = "part";
  struct Inputs {};
  virtual ~PartCheck() = default;
  // Uses the part, and returns what it is here. Throws what says why it does not work, and what to
  // do about it.
  virtual std::string use() = 0;
};

template <>
Registry<PartCheck>& Registry<PartCheck>::global();

}  // namespace stoker
