#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "io/core/config/config.h"

// What becomes of the options of a component when an override changes its type.

namespace stoker {

// What a type makes of a mapping of options. A value.
struct TakenOptions {
  // The options that it knows and whose values it can read, and whether they differ from the
  // defaults.
  std::map<std::string, bool> keys;
  // The option that holds the component that this one is around; empty: it is around none.
  std::string inner;
};
// By the name of a type. Absent: the type is not known.
using TakesOptions =
    std::function<std::optional<TakenOptions>(const std::string& type, const Section& options)>;

// The mapping of a section whose type overrides have changed (Node::former), as the new type is to
// read it; the other overrides are set in it in their order. An override of a type
//
// 1. takes what has that type already inside a wrapper: `posix` that stood in an `emulated` tier;
// 2. else, if the new type is a wrapper, puts it around what stood there;
// 3. else gives the new type the options that the former one had, a wrapper those of what it is
//    around. Options that the former type takes and the new one does not are dropped, and the note
//    of the context says which, but for those that have their defaults. What neither of them takes
//    is a mistake, and stays to be found.
Node retyped(const Section& section, const std::string& fallback, const TakesOptions& takes);

}  // namespace stoker
